# Image of the solver. Build it in the repository's root:
#   docker build -f deploy/docker/firmament.Dockerfile -t poseidon-firmament/firmament:0.2.0 .
# To build on exactly one base, add --build-arg PYTHON_DIGEST=sha256:...
ARG PYTHON_DIGEST
FROM python:3.11-slim${PYTHON_DIGEST:+@$PYTHON_DIGEST} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/venv
WORKDIR /source
# The locked versions change rarely: they are a layer of their own.
COPY deploy/docker/firmament.lock .
RUN /opt/venv/bin/pip install --require-hashes -r firmament.lock
COPY . .
RUN /opt/venv/bin/pip install --no-deps --no-build-isolation . \
    && /opt/venv/bin/pip uninstall --yes setuptools pip \
    && /opt/venv/bin/python -c "import firmament"

FROM python:3.11-slim${PYTHON_DIGEST:+@$PYTHON_DIGEST}
LABEL org.opencontainers.image.title="firmament" org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /opt/venv /opt/venv
# A number, so that Kubernetes can tell that it is not root.
USER 65532:65532
WORKDIR /tmp
EXPOSE 9090 9091
ENTRYPOINT ["firmament"]
CMD ["serve", "--listen=0.0.0.0:9090"]

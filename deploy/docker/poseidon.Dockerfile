# Image of the bridge. Build it in the repository's root:
#   docker build -f deploy/docker/poseidon.Dockerfile -t poseidon-firmament/poseidon:0.2.0 .
# To build on exactly one base, add --build-arg PYTHON_DIGEST=sha256:...
# With the solver in it, for `poseidon reschedule`, `audit` and `plan`:
#   docker build -f deploy/docker/poseidon.Dockerfile --build-arg ALSO=firmament.lock -t poseidon-firmament/poseidon-with-solver:0.2.0 .
ARG PYTHON_DIGEST
FROM python:3.11-slim${PYTHON_DIGEST:+@$PYTHON_DIGEST} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/venv
WORKDIR /source
# The locked versions change rarely: they are a layer of their own.
COPY deploy/docker/poseidon.lock .
COPY deploy/docker/firmament.lock .
ARG ALSO
RUN /opt/venv/bin/pip install --require-hashes -r poseidon.lock ${ALSO:+-r $ALSO}
COPY . .
RUN /opt/venv/bin/pip install --no-deps --no-build-isolation . \
    && /opt/venv/bin/pip uninstall --yes setuptools pip \
    && /opt/venv/bin/python -c "import poseidon"

FROM python:3.11-slim${PYTHON_DIGEST:+@$PYTHON_DIGEST}
LABEL org.opencontainers.image.title="poseidon" org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /opt/venv /opt/venv
# A number, so that Kubernetes can tell that it is not root.
USER 65532:65532
WORKDIR /tmp
EXPOSE 9092
ENTRYPOINT ["poseidon"]
CMD ["run"]

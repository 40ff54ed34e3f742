"""Folders in the shape of manifests that projects publish, and of what surrounds them: path to text."""

from __future__ import annotations

NODES = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {capacity: {cpu: "8", memory: 32Gi, pods: "110"}}}
- {apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "8", memory: 1E, pods: "110"}}}
"""

GUESTBOOK = {
    "all-in-one/guestbook.yaml": """
# services come first
apiVersion: v1
kind: Service
metadata: {name: redis-master, labels: {app: redis}}
spec: {ports: [{port: 6379, targetPort: 6379}], selector: {app: redis}}
---
apiVersion: v1
kind: ReplicationController
metadata: {name: redis-master}
spec:
  replicas: 1
  selector: {app: redis, role: master}
  template:
    metadata: {labels: {app: redis, role: master}}
    spec:
      containers:
      - name: master
        image: registry.example.com/redis:e2e
        resources: {requests: {cpu: 100m, memory: 100Mi}}
        ports: [{containerPort: 6379}]
---
apiVersion: extensions/v1beta1
kind: Deployment
metadata: {name: frontend}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: guestbook, tier: frontend}}
    spec:
      containers:
      - {name: php-redis, image: "registry.example.com/gb-frontend:v4", ports: [{containerPort: 80}]}
""",
    "legacy/redis-slave.json": """{
  "kind": "Deployment", "apiVersion": "apps/v1beta1", "metadata": {"name": "redis-slave"},
  "spec": {"replicas": 2, "template": {"metadata": {"labels": {"app": "redis"}},
    "spec": {"containers": [{"name": "slave", "image": "registry.example.com/gb-redisslave:v1"}]}}}
}
{
  "kind": "Service", "apiVersion": "v1", "metadata": {"name": "redis-slave"},
  "spec": {"ports": [{"port": 6379}]}
}
""",
}

WORDPRESS = {
    "kustomization.yaml": """
secretGenerator:
- name: mysql-pass
  literals: [password=YOUR_PASSWORD]
resources: [mysql-deployment.yaml, wordpress-deployment.yaml]
patches:
- path: more-replicas.yaml
- patch: |-
    - op: replace
      path: /spec/replicas
      value: 3
  target: {kind: Deployment}
""",
    "more-replicas.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata: {name: wordpress}
spec: {replicas: 4}
""",
    "mysql-deployment.yaml": """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: mysql-pv-claim, labels: {app: wordpress}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 20Gi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: wordpress-mysql}
spec:
  selector: {matchLabels: {app: wordpress, tier: mysql}}
  strategy: {type: Recreate}
  template:
    metadata: {labels: {app: wordpress, tier: mysql}}
    spec:
      containers:
      - image: mysql:8.0
        name: mysql
        env: [{name: MYSQL_PASSWORD, valueFrom: {secretKeyRef: {name: mysql-pass, key: password}}}]
        volumeMounts: [{name: mysql-persistent-storage, mountPath: /var/lib/mysql}]
      volumes:
      - {name: mysql-persistent-storage, persistentVolumeClaim: {claimName: mysql-pv-claim}}
""",
    "wordpress-deployment.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata: {name: wordpress}
spec:
  selector: {matchLabels: {app: wordpress, tier: frontend}}
  template:
    metadata: {labels: {app: wordpress, tier: frontend}}
    spec:
      containers:
      - {image: "wordpress:6.2.1-apache", name: wordpress, ports: [{containerPort: 80, name: wordpress}]}
""",
}

STATEFUL = {
    "cassandra.yaml": """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: cassandra, labels: {app: cassandra}}
spec:
  serviceName: cassandra
  replicas: 3
  selector: {matchLabels: {app: cassandra}}
  template:
    metadata: {labels: {app: cassandra}}
    spec:
      terminationGracePeriodSeconds: 500
      containers:
      - name: cassandra
        image: registry.example.com/cassandra:v13
        resources: {limits: {cpu: 500m, memory: 1Gi}, requests: {cpu: 500m, memory: 1Gi}}
        volumeMounts: [{name: cassandra-data, mountPath: /cassandra_data}]
  volumeClaimTemplates:
  - metadata: {name: cassandra-data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 10Pi}}}
---
kind: StorageClass
apiVersion: storage.k8s.io/v1beta1
metadata: {name: fast}
provisioner: disk.example.com
volumeBindingMode: WaitForFirstConsumer
parameters: {type: pd-ssd}
""",
    "zookeeper.yaml": """
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: zk-pdb}
spec: {selector: {matchLabels: {app: zk}}, maxUnavailable: 1}
---
apiVersion: apps/v1beta2
kind: StatefulSet
metadata: {name: zk}
spec:
  selector: {matchLabels: {app: zk}}
  serviceName: zk-hs
  replicas: 2
  updateStrategy: {type: RollingUpdate}
  podManagementPolicy: OrderedReady
  template:
    metadata: {labels: {app: zk}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - labelSelector: {matchExpressions: [{key: app, operator: In, values: [zk]}]}
            topologyKey: kubernetes.io/hostname
      containers:
      - name: kubernetes-zookeeper
        image: registry.example.com/zookeeper:1.0
        resources: {requests: {memory: 1Gi, cpu: "0.5"}}
        command: [sh, -c, 'start-zookeeper --servers=3']
""",
}

OPERATOR = {
    "setup/crd.yaml": """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rollouts.example.com}
spec:
  versions:
  - schema: {openAPIV3Schema: {properties: {spec: {properties: {template: {properties: {spec: {properties: {}}}}}}}}}
""",
    "prometheus-prometheus.yaml": """
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: k8s, namespace: monitoring}
spec: {replicas: 2, image: prom, containers: [{name: prometheus, args: [--x]}]}
""",
    "alertmanager-prometheusRule.yaml": """
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: rules, namespace: monitoring}
spec:
  groups:
  - name: a
    rules:
    - {alert: Down, annotations: {description: "{{ $labels.pod }} is {{ printf \\"%.2f\\" $value }}"}, expr: up == 0}
""",
    "nodeExporter-daemonset.yaml": """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: node-exporter, namespace: monitoring}
spec:
  selector: {matchLabels: {app: node-exporter}}
  template:
    metadata:
      labels: {app: node-exporter}
      annotations: {note: "{{ stays as it is }}"}
    spec:
      hostNetwork: true
      tolerations: [{operator: Exists}]
      priorityClassName: system-cluster-critical
      containers: [{name: node-exporter, image: node-exporter, resources: {requests: {cpu: 102m, memory: 180Mi}}}]
""",
    "grafana-dashboardDefinitions.yaml": """
apiVersion: v1
kind: ConfigMapList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: grafana-dashboard-nodes, namespace: monitoring}
  data: {nodes.json: '{"title": "{{nodename}}", "panels": []}'}
""",
    "dashboards/nodes.json": '{"title": "Nodes", "panels": [{"legend": "plain"}], "schemaVersion": 38}',
    "dashboards/list.json": "[1, 2, 3]",
    "dashboards/commented.json": '{\n  // not quite JSON\n  "title": "x"\n}',
    "dashboards/binary.json": "\udcff\udcfe",
}

CHART = {
    "Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n",
    "values.yaml": "replicaCount: 1\nimage: {repository: nginx, tag: ''}\n",
    "templates/deployment.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "web.fullname" . }}
  labels:
    {{- include "web.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicaCount }}
""",
    "templates/quoted.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}-quoted"}
spec: {replicas: "{{ .Values.replicaCount }}", template: {spec: {containers: [{name: c, image: "{{ .x }}"}]}}}
""",
    "crds/plain.yaml": """
apiVersion: v1
kind: Pod
metadata: {generateName: smoke-}
spec: {containers: [{name: c, image: busybox}]}
""",
    "ci/mkdocs.yml": "markdown_extensions:\n- emoji: !!python/name:materialx.emoji.twemoji\n",
    "ci/.gitlab-ci.yml": "build: {script: !reference [.setup, script]}\n",
    "ci/docker-compose.yaml": "services: {web: {image: nginx}}\n",
}

_POD = "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: busybox}]}}"

OTHERS = {
    "rollout.yaml": f"""
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {{name: rollouts-demo}}
spec: {{replicas: 5, strategy: {{canary: {{}}}}, template: {_POD}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {{name: second}}
spec: {{replicas: 5, template: {_POD}}}
""",
    "pytorch.yaml": f"""
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: mnist}}
spec: {{pytorchReplicaSpecs: {{Master: {{replicas: 1, template: {_POD}}}, Worker: {{template: {_POD}}}}}}}
""",
    "jobset.yaml": f"""
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: coordinator}}
spec: {{replicatedJobs: [{{name: driver, template: {{spec: {{parallelism: 2, template: {_POD}}}}}}}]}}
""",
    "volcano.yaml": f"""
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: lm-horovod}}
spec: {{minAvailable: 3, tasks: [{{replicas: 1, name: master, template: {_POD}}}]}}
""",
    "ray.yaml": f"""
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: raycluster}}
spec: {{headGroupSpec: {{rayStartParams: {{}}, template: {_POD}}}, workerGroupSpecs: [{{template: {_POD}}}]}}
""",
    "leader.yaml": f"""
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: vllm}}
spec: {{replicas: 3, leaderWorkerTemplate: {{size: 4, workerTemplate: {_POD}}}}}
""",
    "silent.yaml": f"""
apiVersion: apps/v1
kind: ControllerRevision
metadata: {{name: db-1}}
data: {{spec: {{template: {_POD}}}}}
revision: 1
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: web}}
spec: {{rules: []}}
""",
}

CRON = {
    "cronjob.yaml": f"""
apiVersion: batch/v1
kind: CronJob
metadata: {{name: hello, namespace: ops}}
spec: {{schedule: "* * * * *", jobTemplate: {{spec: {{template: {_POD}}}}}}}
---
apiVersion: batch/v1beta1
kind: CronJob
metadata: {{name: nightly}}
spec: {{schedule: "@daily", jobTemplate: {{spec: {{template: {_POD}}}}}}}
""",
    "job.yaml": f"""
apiVersion: batch/v1
kind: Job
metadata: {{generateName: process-item-}}
spec: {{completions: 3, parallelism: 2, template: {_POD}}}
""",
}

ANSWERS = {
    "empty.yaml": 'apiVersion: v1\nitems: []\nkind: List\nmetadata: {resourceVersion: ""}\n',
    "status.json": '{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "pods \\"x\\" not found"}',
    "table.json": '{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": [], "rows": []}',
    "mixed.json": """{"apiVersion": "v1", "kind": "List", "items": [
 {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}},
 {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": null},
 {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": "u", "resourceVersion": "7"},
  "spec": {"nodeName": "n1", "containers": [{"name": "c"}], "volumes": null}, "status": {"phase": "Running"}}]}""",
    "later.yaml": """
apiVersion: v1
kind: Pod
metadata: {name: p, uid: u, resourceVersion: "12"}
spec: {nodeName: n1, containers: [{name: c}]}
status: {phase: Succeeded}
""",
}

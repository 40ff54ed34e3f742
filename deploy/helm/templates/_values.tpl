{{- /* What the values change about .object: namespaces, images, pods and the configuration. */ -}}
{{- define "poseidon.values" -}}
{{- $values := .values -}}
{{- $object := .object -}}
{{- $namespace := .namespace -}}
{{- if eq ($object.metadata.namespace | default "") "poseidon" -}}
  {{- $_ := set $object.metadata "namespace" $namespace -}}
{{- end -}}
{{- if eq $object.kind "Namespace" -}}
  {{- if eq $object.metadata.name "poseidon" -}}{{- $_ := set $object.metadata "name" $namespace -}}{{- end -}}
{{- end -}}
{{- range $subject := $object.subjects -}}
  {{- if eq $subject.namespace "poseidon" -}}{{- $_ := set $subject "namespace" $namespace -}}{{- end -}}
{{- end -}}
{{- if has $object.kind (list "Deployment" "DaemonSet") -}}
  {{- $pod := $object.spec.template.spec -}}
  {{- $container := first $pod.containers -}}
  {{- range $name, $image := $values.images -}}
    {{- $ours := printf "poseidon-firmament/%s" $name -}}
    {{- $parts := splitList ":" $container.image -}}
    {{- if eq (first $parts) $ours -}}
      {{- $_ := set $container "image" (printf "%s:%s" ($image.repository | default $ours) ($image.tag | default (last $parts))) -}}
    {{- end -}}
  {{- end -}}
  {{- $_ := mergeOverwrite $container (get $values.containers $object.metadata.name | default dict | deepCopy) -}}
  {{- $_ := mergeOverwrite $pod (get $values.pods $object.metadata.name | default dict | deepCopy) -}}
{{- end -}}
{{- if and (eq $object.metadata.name "scheduler-configuration") $values.configuration -}}
  {{- $document := get $object.data "scheduler.yaml" | fromYaml -}}
  {{- $_ := set $object.data "scheduler.yaml" (mergeOverwrite $document (deepCopy $values.configuration) | toYaml) -}}
{{- end -}}
{{- end -}}

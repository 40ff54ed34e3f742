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
{{- $name := $object.metadata.name -}}
{{- $template := "" -}}
{{- if has $object.kind (list "Deployment" "DaemonSet") -}}{{- $template = $object.spec.template -}}{{- end -}}
{{- if eq $object.kind "CronJob" -}}{{- $template = $object.spec.jobTemplate.spec.template -}}{{- end -}}
{{- if $template -}}
  {{- $pod := $template.spec -}}
  {{- $container := first $pod.containers -}}
  {{- range $image, $given := $values.images -}}
    {{- $ours := printf "poseidon-firmament/%s" $image -}}
    {{- $parts := splitList ":" $container.image -}}
    {{- if eq (first $parts) $ours -}}
      {{- $_ := set $container "image" (printf "%s:%s" ($given.repository | default $ours) ($given.tag | default (last $parts))) -}}
    {{- end -}}
  {{- end -}}
  {{- $more := list -}}
  {{- if has $name (list "poseidon" "firmament") -}}
    {{- if $values.logLevel -}}{{- $more = append $more (printf "--log-level=%s" $values.logLevel) -}}{{- end -}}
    {{- if $values.logFormat -}}{{- $more = append $more (printf "--log-format=%s" $values.logFormat) -}}{{- end -}}
  {{- end -}}
  {{- $more = concat $more (get $values.extraArgs $name | default list) -}}
  {{- if $more -}}{{- $_ := set $container "args" (concat ($container.args | default list) $more) -}}{{- end -}}
  {{- $_ := mergeOverwrite $container (get $values.containers $name | default dict | deepCopy) -}}
  {{- $_ := mergeOverwrite $pod (get $values.pods $name | default dict | deepCopy) -}}
  {{- range $volume := $pod.volumes -}}
    {{- if eq (dig "configMap" "name" "" $volume) "scheduler-configuration" -}}
      {{- $annotations := $template.metadata.annotations | default dict -}}
      {{- $_ := set $annotations "checksum/configuration" $.checksum -}}
      {{- $_ := set $template.metadata "annotations" $annotations -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{- /* Merge the values into the configuration that is one of .objects; .all is given its "checksum". */ -}}
{{- define "poseidon.configuration" -}}
{{- range $object := .all.objects -}}
  {{- if and (eq $object.kind "ConfigMap") (eq $object.metadata.name "scheduler-configuration") -}}
    {{- if $.values.configuration -}}
      {{- $document := get $object.data "scheduler.yaml" | fromYaml -}}
      {{- $_ := set $object.data "scheduler.yaml" (mergeOverwrite $document (deepCopy $.values.configuration) | toYaml) -}}
    {{- end -}}
    {{- $_ := set $.all "checksum" (get $object.data "scheduler.yaml" | sha256sum) -}}
  {{- end -}}
{{- end -}}
{{- end -}}

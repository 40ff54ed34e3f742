{{- /* What of kustomize the manifests make use of: resources, patches by RFC 6902 (add, replace), ConfigMaps of files. */ -}}

{{- /* Read a folder of manifests: its objects and patches are added to .all, which has lists by these names. */ -}}
{{- define "kustomize.read" -}}
{{- $folder := printf "manifests/%s" .folder | trimSuffix "/" -}}
{{- $files := .files -}}
{{- $all := .all -}}
{{- $kustomization := $files.Get (printf "%s/kustomization.yaml" $folder) | fromYaml -}}
{{- range $name := $kustomization.resources -}}
  {{- range $text := regexSplit "(?m)^---$" ($files.Get (printf "%s/%s" $folder $name)) -1 -}}
    {{- $_ := set $all "objects" (append $all.objects (fromYaml $text)) -}}
  {{- end -}}
{{- end -}}
{{- range $map := $kustomization.configMapGenerator -}}
  {{- $data := dict -}}
  {{- range $name := $map.files -}}
    {{- $_ := set $data $name ($files.Get (printf "%s/%s" $folder $name)) -}}
  {{- end -}}
  {{- $metadata := dict "name" $map.name "namespace" $map.namespace "labels" $map.options.labels -}}
  {{- $object := dict "apiVersion" "v1" "kind" "ConfigMap" "metadata" $metadata "data" $data -}}
  {{- $_ := set $all "objects" (append $all.objects $object) -}}
{{- end -}}
{{- $_ := set $all "patches" (concat $all.patches ($kustomization.patches | default list)) -}}
{{- end -}}

{{- /* Carry out the steps of .patch on each of .objects that is its target. */ -}}
{{- define "kustomize.patch" -}}
{{- $target := .patch.target -}}
{{- $steps := fromYamlArray .patch.patch -}}
{{- range $object := .objects -}}
  {{- if and (eq $object.kind $target.kind) (eq $object.metadata.name $target.name) -}}
    {{- range $step := $steps -}}
      {{- include "kustomize.step" (dict "object" $object "step" $step) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{- /* One step: "add" and "replace" of a field, or "add" at the end of a list, as in /spec/list/-. */ -}}
{{- define "kustomize.step" -}}
{{- $value := .step.value -}}
{{- $parts := splitList "/" (trimPrefix "/" .step.path) -}}
{{- $appends := eq (last $parts) "-" -}}
{{- if $appends -}}{{- $parts = initial $parts -}}{{- end -}}
{{- $place := .object -}}
{{- range $part := initial $parts -}}
  {{- if kindIs "slice" $place -}}
    {{- $place = index $place (atoi $part) -}}
  {{- else -}}
    {{- $place = get $place ($part | replace "~1" "/") -}}
  {{- end -}}
{{- end -}}
{{- $key := last $parts | replace "~1" "/" -}}
{{- if not (and (kindIs "map" $place) (has .step.op (list "add" "replace"))) -}}
  {{- fail (printf "%s %s: this chart cannot do that" .step.op .step.path) -}}
{{- end -}}
{{- if $appends -}}{{- $value = append (get $place $key) $value -}}{{- end -}}
{{- $_ := set $place $key $value -}}
{{- end -}}

{{/* Labels of the role node: those of the chart's objects, as another component. Takes what netaminity.labels takes. */}}
{{- define "netaminity.nodeLabels" -}}
{{- toYaml (merge (dict "app.kubernetes.io/component" "node") (include "netaminity.labels" . | fromYaml)) -}}
{{- end }}

{{- define "netaminity.nodeSelectorLabels" -}}
{{- toYaml (merge (dict "app.kubernetes.io/component" "node") (include "netaminity.selectorLabels" . | fromYaml)) -}}
{{- end }}

{{- define "netaminity.nodeName" -}}
{{- include "netaminity.fullname" . -}}-node
{{- end }}

{{/* Settings of `netaminity node`, with `node.extraEnv`, which wins. */}}
{{- define "netaminity.nodeEnvironment" -}}
{{- $node := .Values.node -}}
{{- $names := dict -}}
{{- range $node.extraEnv -}}
{{- if hasKey $names .name -}}
{{- fail (printf "node.extraEnv: %s stands there twice" .name) -}}
{{- end -}}
{{- $_ := set $names .name true -}}
{{- end -}}
{{- $all := list
  (dict "name" "NETAMINITY_LOG_LEVEL" "value" .Values.config.logLevel)
  (dict "name" "NETAMINITY_LOG_FORMAT" "value" .Values.config.logFormat)
  (dict "name" "NETAMINITY_HEALTH_LISTEN" "value" (printf "[::]:%v" $node.healthPort))
  (dict "name" "NETAMINITY_COMPAT_COZYSTACK" "value" ($node.compat.cozystack | toString))
  (dict "name" "NODE_NAME" "valueFrom" (dict "fieldRef" (dict "fieldPath" "spec.nodeName")))
-}}
{{- with $node.podCidrs -}}
{{- $all = append $all (dict "name" "NETAMINITY_POD_CIDR" "value" (join "," .)) -}}
{{- end -}}
{{- with $node.serviceCidrs -}}
{{- $all = append $all (dict "name" "NETAMINITY_SERVICE_CIDR" "value" (join "," .)) -}}
{{- end -}}
{{- with $node.masquerade.interfaces -}}
{{- $all = append $all (dict "name" "NETAMINITY_MASQUERADE" "value" "true") -}}
{{- $all = append $all (dict "name" "NETAMINITY_MESH_INTERFACE" "value" (join "," .)) -}}
{{- $all = append $all (dict "name" "NETAMINITY_MASQUERADE_ALL" "value" ($node.masquerade.all | toString)) -}}
{{- end -}}
{{- $own := list -}}
{{- range $all -}}
{{- if not (hasKey $names .name) -}}
{{- $own = append $own . -}}
{{- end -}}
{{- end -}}
{{- toYaml (concat $own $node.extraEnv) -}}
{{- end }}

{{/* Pods of the role, for its work and for the clean-up. Takes (dict "root" . "args" LIST "serviceAccount" NAME). */}}
{{- define "netaminity.nodePodSpec" -}}
{{- $node := .root.Values.node -}}
{{- with $node.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
serviceAccountName: {{ .serviceAccount | quote }}
automountServiceAccountToken: {{ .token }}
enableServiceLinks: false
# The node's tables are those of its own network.
hostNetwork: true
terminationGracePeriodSeconds: 10
{{- with $node.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with $node.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $node.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $node.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: node
    image: {{ include "netaminity.image" (dict "image" $node.image "chart" .root.Chart) | quote }}
    imagePullPolicy: {{ $node.image.pullPolicy | quote }}
    args:
      {{- toYaml .args | nindent 6 }}
    env:
      {{- include "netaminity.nodeEnvironment" .root | nindent 6 }}
    ports:
      # On the node's network: no two pods of this role on one node, not even an old and a new one.
      - name: health
        containerPort: {{ $node.healthPort }}
        hostPort: {{ $node.healthPort }}
    livenessProbe:
      httpGet:
        path: /healthz
        port: health
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 6
    readinessProbe:
      httpGet:
        path: /readyz
        port: health
      periodSeconds: 5
      timeoutSeconds: 5
    {{- with $node.resources }}
    resources:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    # Root without any of its rights but one: the kernel gives a capability to no other user without more of them.
    securityContext:
      runAsUser: 0
      runAsGroup: 0
      runAsNonRoot: false
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop:
          - ALL
        add:
          - NET_ADMIN
      seccompProfile:
        type: RuntimeDefault
{{- end }}

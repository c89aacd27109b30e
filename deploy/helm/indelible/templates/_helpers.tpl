{{- define "indelible.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* What selects pods; the component is added. Never changes, because a Deployment's selector may not. */}}
{{- define "indelible.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "indelible.labels" -}}
{{ include "indelible.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* The pod of a command: takes root, command, and isServing or needsOwner. */}}
{{- define "indelible.pod" -}}
{{- $image := printf "%s:%s" .root.Values.image.repository (.root.Values.image.tag | default .root.Chart.AppVersion) }}
{{- with .root.Values }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: { type: RuntimeDefault }
{{- with .nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: data
    emptyDir: {}
  - name: keys
    emptyDir: { medium: Memory, sizeLimit: 1Mi }
  - name: signing-key
    secret: { secretName: {{ .secrets.signingKey }}, defaultMode: 288 } # 0440: the group of the pod
  {{- if .catalogueConfigMap }}
  - name: catalogue
    configMap: { name: {{ .catalogueConfigMap }} }
  {{- end }}
initContainers:
  # The service refuses a key that others may read, and Kubernetes gives files of a Secret to root.
  - name: signing-key
    image: {{ $image }}
    imagePullPolicy: {{ .image.pullPolicy }}
    command: [install, -m, "0600", /run/secret/signing-key.pem, /run/keys/signing-key.pem]
    securityContext: &restricted
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: { drop: [ALL] }
    resources: &small
      requests: { cpu: 100m, memory: 256Mi }
      limits: { memory: 512Mi }
    volumeMounts:
      - { name: signing-key, mountPath: /run/secret, readOnly: true }
      - { name: keys, mountPath: /run/keys }
{{- end }}
containers:
  - name: indelible
    image: {{ $image }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    args: {{ toJson .command }}
    envFrom:
      - secretRef: { name: {{ .root.Values.secrets.serving }} }
    env:
      - { name: SIGNING_KEY_FILE, value: /run/keys/signing-key.pem }
      {{- if .root.Values.catalogueConfigMap }}
      - { name: CATALOGUE_FILE, value: /run/catalogue/catalogue.json }
      {{- end }}
      {{- range $name, $value := .root.Values.env }}
      - { name: {{ $name }}, value: {{ $value | toString | quote }} }
      {{- end }}
      {{- if .needsOwner }}
      - name: DATABASE_OWNER_URL
        valueFrom: { secretKeyRef: { name: {{ .root.Values.secrets.owner }}, key: DATABASE_OWNER_URL } }
      {{- end }}
    securityContext: *restricted
    volumeMounts:
      - { name: data, mountPath: /var/lib/indelible }
      - { name: keys, mountPath: /run/keys, readOnly: true }
      {{- if .root.Values.catalogueConfigMap }}
      - { name: catalogue, mountPath: /run/catalogue, readOnly: true }
      {{- end }}
{{- end }}

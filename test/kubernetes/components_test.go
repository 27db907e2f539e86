package kubernetes

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// completed is production with the components of its commented-out list.
const completed = "production, with all"

func kustomizeCompleted() ([]runtime.Object, error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary copy
	if err := os.CopyFS(dir, os.DirFS(manifests)); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "production/kustomization.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "# components:", "components:", 1)),
		0o600); err != nil {
		return nil, err
	}
	return kustomizeAt(filepath.Join(dir, "production"))
}

// TestKubernetesComponents checks that certificates are mounted at the configured paths,
// and that network policies allow the egress of the OIDC and trace components.
func TestKubernetesComponents(t *testing.T) {
	t.Parallel()
	list := kustomized(t, completed)
	for name, p := range pods(t, completed) {
		c := p.Spec.Containers[0]
		files := secretFiles(t, name, p.Spec)
		values := map[string]string{}
		for _, v := range c.Env {
			values[v.Name] = v.Value
		}
		switch want := []string{values["CAIRN_NATS_CA"], values["CAIRN_TLS_CERT"], values["CAIRN_TLS_KEY"]}; {
		case name == "nats":
			if !slices.Contains(files, "/etc/nats/tls/tls.key") {
				t.Errorf("the nats container mounts %v", files)
			}
		case !slices.Contains(files, want[0]), name == "edge" &&
			(!slices.Contains(files, want[1]) || !slices.Contains(files, want[2])):
			t.Errorf("%s refers to %q, which is not mounted; mounts: %q", name, want, files)
		case values["OTEL_EXPORTER_OTLP_ENDPOINT"] == "":
			t.Errorf("%s exports no traces", name)
		}
	}
	ways := map[string][]string{}
	for _, n := range of[networking.NetworkPolicy](list) {
		ways[n.Name] = selected(t, pods(t, completed), &n.Spec.PodSelector)
	}
	if !slices.Equal(ways["issuer"], []string{"edge"}) || len(ways["traces"]) != len(of[apps.Deployment](list)) {
		t.Errorf("the egress rules are %v", ways)
	}
	for _, s := range of[core.Service](list) {
		if s.Name == "cairn" && (len(s.Spec.Ports) != 1 || s.Spec.Ports[0].Port != 443) {
			t.Errorf("the edge Service has the ports %v", s.Spec.Ports)
		}
	}
	for _, m := range of[core.ConfigMap](list) {
		if conf, ok := m.Data["nats.conf"]; ok && (!strings.Contains(m.Data["tls.conf"], "tls {") ||
			!strings.Contains(m.Data["tls-routes.conf"], "ca_file") || !strings.Contains(conf, "include tls.conf")) {
			t.Error("NATS is without TLS")
		}
	}
}

// secretFiles returns the paths of the certificate files that a pod mounts from Secrets.
func secretFiles(t *testing.T, name string, p core.PodSpec) (files []string) {
	t.Helper()
	for _, m := range p.Containers[0].VolumeMounts {
		i := slices.IndexFunc(p.Volumes, func(v core.Volume) bool { return v.Name == m.Name })
		if i < 0 {
			if name != "nats" { // its data volume is a claim template
				t.Errorf("%s: %s is mounted, but not a volume", name, m.Name)
			}
			continue
		}
		if s := p.Volumes[i].Secret; s != nil {
			names := []string{"tls.crt", "tls.key", "ca.crt"}
			if len(s.Items) > 0 {
				names = nil
			}
			for _, item := range s.Items {
				names = append(names, item.Path)
			}
			for _, file := range names {
				files = append(files, path.Join(m.MountPath, file))
			}
		}
	}
	return files
}

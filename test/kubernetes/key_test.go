package kubernetes

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	rbac "k8s.io/api/rbac/v1"

	"cairn/bus/bustest"
	"cairn/test/cairntest"
)

// TestKubernetesCreatesFirstKey checks that the Jobs create the streams and the first
// key with the permissions of their NATS users, and that the namespace and the policies
// admit their pods.
func TestKubernetesCreatesFirstKey(t *testing.T) {
	n := startNode(t)
	n.setup(t)
	args, env := n.job(t, "key")
	written := make(chan string, 1)
	api, account := secretAPI(t, "cairn-admin", written)
	args[len(args)-1] = account
	env = append(env, "KUBERNETES_SERVICE_HOST="+api.Hostname(), "KUBERNETES_SERVICE_PORT="+api.Port())
	if out, err := cairntest.Run(t, env, args...); err != nil || strings.Contains(out, "cairn_") {
		t.Errorf("it ends with %v, and writes to the log:\n%s", err, out)
	}
	if body := <-written; !regexp.MustCompile(`"key":"cairn_\w+_\w+"`).MatchString(body) {
		t.Errorf("the Secret is patched with %s", body)
	}
	if out, err := cairntest.Run(t, env, args...); err != nil || !strings.Contains(out, "already contains a key") {
		t.Errorf("a second run ends with %v:\n%s", err, out)
	}
}

// node is a NATS server with the configuration nats.conf.
type node struct{ *bustest.Node }

// startNode starts a server outside of the cluster of the StatefulSet.
func startNode(t *testing.T) node {
	t.Helper()
	_, o := natsOptions(t)
	o.Cluster, o.Routes = server.ClusterOpts{}, nil
	return node{bustest.StartNode(t, o)}
}

// setup runs the Job that creates the streams.
func (n node) setup(t *testing.T) {
	t.Helper()
	args, env := n.job(t, "setup")
	args[slices.Index(args, "--replicas")+1] = "1" // one server
	out, err := cairntest.Run(t, env, args...)
	if err != nil || !strings.Contains(out, "Created or updated all streams") ||
		strings.Contains(out, "was not created") {
		t.Fatalf("setup ends with %v:\n%s", err, out)
	}
}

// job returns the arguments and the environment of the Job of the directory, and checks
// that the namespace and the policies admit its pod.
func (n node) job(t *testing.T, directory string) (args, env []string) {
	t.Helper()
	job := of[batch.Job](kustomized(t, directory))[0]
	pod := job.Spec.Template
	c := pod.Spec.Containers[0]
	restricted(t, directory, pod)
	var way []string
	for _, n := range of[networking.NetworkPolicy](kustomized(t, "small")) {
		if selects(t, &n.Spec.PodSelector, pod) {
			way = append(way, n.Name)
		}
		for _, rule := range n.Spec.Ingress {
			for _, from := range rule.From {
				if from.PodSelector != nil && from.NamespaceSelector == nil && selects(t, from.PodSelector, pod) {
					way = append(way, "to "+n.Name)
				}
			}
		}
	}
	if got := strings.Join(way, " "); !strings.Contains(got, "names") || !strings.Contains(got, "bus") ||
		!strings.Contains(got, "to nats") {
		t.Errorf("its NATS URL is %q", got)
	}
	values := map[string]string{}
	for _, v := range c.Env {
		if v.ValueFrom != nil {
			values[v.Name] = n.secret(v.ValueFrom.SecretKeyRef.Key)
		}
	}
	return slices.Clone(c.Args), append(env, settings(t, c, values)...)
}

// secretAPI is an API server that has one Secret, and the directory with the
// credentials of the only account that may get and patch it.
func secretAPI(t *testing.T, name string, written chan string) (address *url.URL, account string) {
	t.Helper()
	const token = "the-token-of-the-account"
	stored := `{"data":{}}`
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/namespaces/cairn/secrets/"+name, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method == http.MethodPatch {
			body, _ := io.ReadAll(r.Body) // a truncated body fails the test
			stored = `{"data":{"key":"AAAA"}}`
			written <- string(body)
		}
		_, _ = io.WriteString(w, stored)
	})
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	account = t.TempDir()
	for file, text := range map[string][]byte{
		"token": []byte(token), "namespace": []byte("cairn\n"),
		"ca.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	} {
		if err := os.WriteFile(filepath.Join(account, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return address, account
}

// TestKubernetesKeyRole checks that the account of the Job may get and patch the
// one Secret that the manifests have, and nothing else.
func TestKubernetesKeyRole(t *testing.T) {
	t.Parallel()
	list := kustomized(t, "key")
	c := of[batch.Job](list)[0].Spec.Template.Spec.Containers[0]
	var rules []string
	for _, role := range of[rbac.Role](list) {
		for _, r := range role.Rules {
			rules = append(rules, fmt.Sprint(r.APIGroups, r.Resources, r.ResourceNames, r.Verbs))
		}
	}
	secrets := of[core.Secret](list)
	if want := []string{"[] [secrets] [cairn-admin] [get patch]"}; !slices.Equal(rules, want) {
		t.Errorf("the account has the verbs %q, want %q", rules, want)
	}
	if len(secrets) != 1 || secrets[0].Name != "cairn-admin" || len(secrets[0].Data)+len(secrets[0].StringData) > 0 ||
		!slices.Contains(c.Args, secrets[0].Name) {
		t.Errorf("Secrets %v, want an empty one with the name in the Job", secrets)
	}
	if len(of[rbac.ClusterRole](list))+len(of[rbac.ClusterRoleBinding](list)) > 0 {
		t.Error("the account has permissions in the whole cluster")
	}
}

// secret returns the URL that the Secret cairn-nats contains under a key such as edge-url.
func (n node) secret(key string) string {
	user, _ := strings.CutSuffix(key, "-url")
	return (&url.URL{Scheme: "nats", User: url.UserPassword(user, password), Host: n.Addr().String()}).String()
}

// TestKubernetesCreatesSecret checks that the documented command creates every key of the
// Secret that manifests use.
func TestKubernetesCreatesSecret(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../edge/docs/clustering.md")
	if err != nil {
		t.Fatal(err)
	}
	received := map[string]bool{}
	for _, directory := range []string{"small", "production", "setup", "key"} {
		list := kustomized(t, directory)
		all := pods(t, directory)
		for _, j := range of[batch.Job](list) {
			all[j.Name] = j.Spec.Template
		}
		for _, p := range all {
			for _, v := range p.Spec.Containers[0].Env {
				if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
					received[v.ValueFrom.SecretKeyRef.Key] = true
				}
			}
		}
	}
	if len(received) < 8 {
		t.Errorf("the manifests use the keys %v", received)
	}
	for key := range received {
		if !strings.Contains(string(readme), "--from-literal="+key+"=") {
			t.Errorf("the command of the manual creates no %s", key)
		}
	}
}

// restricted checks the pod against the Pod Security Standard restricted.
func restricted(t *testing.T, name string, p core.PodTemplateSpec) {
	t.Helper()
	s, own := p.Spec.SecurityContext, p.Spec.Containers[0].SecurityContext
	if s == nil || own == nil {
		t.Errorf("%s has no security context", name)
		return
	}
	if !*s.RunAsNonRoot || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault ||
		*own.AllowPrivilegeEscalation ||
		!*own.ReadOnlyRootFilesystem ||
		len(own.Capabilities.Drop) != 1 || own.Capabilities.Drop[0] != "ALL" || *p.Spec.AutomountServiceAccountToken {
		t.Errorf("%s has more privileges than the standard permits", name)
	}
}

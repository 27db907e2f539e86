// Package kubernetes checks the manifests of deploy/kubernetes and runs their containers
// as processes. It is a separate module, because only these tests need the Kubernetes
// libraries.
package kubernetes

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	strict "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"cairn/test/cairntest"
)

const (
	manifests = "../../deploy/kubernetes/"
	natsConf  = manifests + "nats/nats.conf"
	password  = "12e4" // which a configuration parser could read as a number
)

func TestMain(m *testing.M) { os.Exit(cairntest.Main(m)) }

// decode parses an object and rejects unknown fields.
func decode(text []byte) (runtime.Object, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apps.AddToScheme, autoscaling.AddToScheme, batch.AddToScheme,
		core.AddToScheme,
		networking.AddToScheme, policy.AddToScheme, rbac.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	reader := strict.NewSerializerWithOptions(strict.DefaultMetaFactory, scheme, scheme,
		strict.SerializerOptions{Yaml: true, Strict: true})
	o, _, err := reader.Decode(text, nil, nil)
	return o, err
}

// kustomized returns the objects of a kustomization. Callers share them.
func kustomized(t *testing.T, directory string) []runtime.Object {
	t.Helper()
	loaded, _ := kustomizations.LoadOrStore(directory, sync.OnceValues(func() ([]runtime.Object, error) {
		return kustomize(directory)
	}))
	list, err := loaded.(func() ([]runtime.Object, error))()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var kustomizations sync.Map // by directory

func kustomize(directory string) ([]runtime.Object, error) {
	if directory == completed {
		return kustomizeCompleted()
	}
	return kustomizeAt(manifests + directory)
}

func kustomizeAt(dir string) (list []runtime.Object, _ error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	for _, r := range resources.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		o, err := decode(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %s %s: %w", dir, r.GetKind(), r.GetName(), err)
		}
		list = append(list, o)
	}
	return list, nil
}

// of returns the objects of type T.
func of[T any](list []runtime.Object) (some []*T) {
	for _, o := range list {
		if object, ok := any(o).(*T); ok {
			some = append(some, object)
		}
	}
	return some
}

func TestKubernetesIsValid(t *testing.T) {
	t.Parallel()
	for directory, want := range map[string]int{"base": 5, "nats": 0, "render": 1, "small": 5, "production": 6,
		completed: 6} {
		list := kustomized(t, directory)
		if got := len(of[apps.Deployment](list)); got != want {
			t.Errorf("%s has %d Deployments; want %d", directory, got, want)
		}
	}
}

// TestKubernetesRejectsInvalidObjects checks that decode rejects invalid objects.
func TestKubernetesRejectsInvalidObjects(t *testing.T) {
	t.Parallel()
	sound := `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {maxUnavailable: 1, selector: {matchLabels: {a: b}}}}`
	if _, err := decode([]byte(sound)); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, text, instead, message string }{
		{"an unknown field", "maxUnavailable", "maxUnavailabel", "unknown field"},
		{"an unknown nested field", "matchLabels", "matchlabels", "unknown field"},
		{"a wrong type", "{a: b}", "[a]", "cannot unmarshal array"},
		{"a number for a text", "{a: b}", "{a: 1}", "cannot unmarshal number"},
		{"a duplicate field", "maxUnavailable: 1", "maxUnavailable: 1, maxUnavailable: 2", "already set"},
		{"an unknown kind", "PodDisruptionBudget", "PodDisruptionBudge", "no kind"},
		{"an unknown version", "policy/v1", "policy/v7", "no kind"},
	} {
		if _, err := decode([]byte(strings.Replace(sound, row.text, row.instead, 1))); err == nil ||
			!strings.Contains(err.Error(), row.message) {
			t.Errorf("%s: %v; want %q", row.name, err, row.message)
		}
	}
}

// TestKubernetesCommands checks that every container runs an existing command
// with valid settings.
func TestKubernetesCommands(t *testing.T) {
	t.Parallel()
	// The command reads the file last, after it has checked all arguments and settings.
	absent := filepath.Join(t.TempDir(), "absent")
	for _, d := range of[apps.Deployment](kustomized(t, completed)) {
		c := d.Spec.Template.Spec.Containers[0]
		if c.Args[0] == "worker" && c.Args[1] != d.Name {
			t.Errorf("%s runs %v", d.Name, c.Args)
		}
		help, err := cairntest.Run(t, nil, append(slices.Clone(c.Args), "--help")...)
		if err != nil {
			t.Errorf("%s: %v: %v, %s", d.Name, c.Args, err, help)
		}
		env := []string{"CAIRN_NATS_FILE=" + absent}
		for _, v := range c.Env {
			if strings.HasPrefix(v.Name, "OTEL_") {
				continue
			}
			if !strings.Contains(help, "["+v.Name+"]") {
				t.Errorf("%s: %s is not a setting of cairn %v", d.Name, v.Name, c.Args)
			}
			if v.ValueFrom == nil {
				env = append(env, v.Name+"="+v.Value)
			}
		}
		if out, err := cairntest.Run(t, env, c.Args...); err == nil || !strings.Contains(out, absent) {
			t.Errorf("%s: %v: %v, %s; want an error for the file %s", d.Name, c.Args, err, out, absent)
		}
	}
}

// TestKubernetesNATSVariables checks that the ConfigMap is the configuration
// that compose mounts, and that its servers get each variable that it contains.
func TestKubernetesNATSVariables(t *testing.T) {
	should, err := os.ReadFile(natsConf)
	if err != nil {
		t.Fatal(err)
	}
	for _, directory := range []string{"nats", "small", "production", completed} {
		for _, m := range of[core.ConfigMap](kustomized(t, directory)) {
			if got, ok := m.Data["nats.conf"]; ok && got != string(should) {
				t.Errorf("%s: nats.conf differs from %s", directory, natsConf)
			}
		}
	}
	nats, o := natsOptions(t)
	for _, v := range regexp.MustCompile(`: \$(CAIRN_\w+)`).FindAllStringSubmatch(string(should), -1) {
		if os.Getenv(v[1]) == "" {
			t.Errorf("nats.conf uses the variable %s, which is not set", v[1])
		}
	}
	if o.ServerName != "nats-1" || len(o.Routes) != int(*nats.Spec.Replicas) || o.Routes[2].Host != "nats-2.nats:6222" ||
		o.Cluster.Password != password {
		t.Errorf("the server name is %s, the routes are %v", o.ServerName, o.Routes)
	}
	ports := map[string]int{}
	for _, p := range nats.Spec.Template.Spec.Containers[0].Ports {
		ports[p.Name] = int(p.ContainerPort)
	}
	if ports["client"] != o.Port || ports["cluster"] != o.Cluster.Port || ports["monitor"] != o.HTTPPort ||
		o.StoreDir != "/data" {
		t.Errorf("the ports are %v, the settings %d, %d and %d", ports, o.Port, o.Cluster.Port, o.HTTPPort)
	}
}

// TestKubernetesStreamsFit creates the streams with the storage limit of the Job on a server whose storage
// is that of the StatefulSet, which leaves a sixth of the volume for Raft logs and the file system.
func TestKubernetesStreamsFit(t *testing.T) {
	nats, o := natsOptions(t)
	volume := nats.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().Value()
	if o.JetStreamMaxStore <= 0 || o.JetStreamMaxStore > volume/6*5 {
		t.Errorf("the storage for streams is %d bytes of a volume of %d", o.JetStreamMaxStore, volume)
	}
	n := startNode(t)
	n.setup(t)
	n.CheckReservations(t)
}

// natsOptions returns the StatefulSet of NATS, and the options of nats.conf in the
// environment of its second pod.
func natsOptions(t *testing.T) (*apps.StatefulSet, *server.Options) {
	t.Helper()
	nats := of[apps.StatefulSet](kustomized(t, "nats"))[0]
	for _, v := range settings(t, nats.Spec.Template.Spec.Containers[0], map[string]string{"POD_NAME": "nats-1"}) {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	o, err := server.ProcessConfigFile(natsConf)
	if err != nil {
		t.Fatal(err)
	}
	return nats, o
}

// settings returns the environment variables of a container, in the form name=value. The given values take
// precedence; values from Secrets are password.
func settings(t *testing.T, c core.Container, given map[string]string) (env []string) {
	t.Helper()
	values := map[string]string{}
	for _, v := range c.Env {
		value, given := given[v.Name]
		switch {
		case given:
		case v.ValueFrom == nil:
			value = regexp.MustCompile(`\$\((\w+)\)`).ReplaceAllStringFunc(v.Value,
				func(name string) string { return values[strings.Trim(name, "$()")] })
		case v.ValueFrom.SecretKeyRef != nil && v.ValueFrom.SecretKeyRef.Name == "cairn-nats":
			value = password
		default:
			t.Errorf("%s: the variable has no value", v.Name)
		}
		values[v.Name] = value
		env = append(env, v.Name+"="+value)
	}
	return env
}

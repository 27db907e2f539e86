package kubernetes

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"

	"cairn/bus/bustest"
	"cairn/test/cairntest"
	"cairn/test/wait"
)

// pod starts the container of a Deployment as a process on the node. It returns when the
// process is ready, with its metrics URL.
func (n node) pod(t *testing.T, d *apps.Deployment, config map[string]string) (p *cairntest.Process, metrics string) {
	t.Helper()
	c := d.Spec.Template.Spec.Containers[0]
	user := map[bool]string{true: "edge", false: "worker"}[d.Name == "edge"]
	metrics = bustest.FreeAddress(t)
	env := settings(t, c, map[string]string{
		"CAIRN_NATS": n.secret(user + "-url"), "CAIRN_READER_NATS": n.secret("reader-url"),
		"CAIRN_METRICS": metrics, "CAIRN_HTTP": "127.0.0.1:0", "CAIRN_AUTH": "off",
		"CAIRN_INDEX": config["index"], "CAIRN_EMBED": config["embed"], "CAIRN_MODEL": config["model"],
	})
	p = cairntest.Start(t, env, c.Args...)
	if out := p.Stdout.String(); !strings.Contains(out, d.Name+" on") {
		t.Errorf("%s prints %s", d.Name, out)
	}
	return p, "http://" + metrics
}

// TestKubernetesPodsRun runs the Deployments as the users of nats.conf and checks that
// they become ready, expose the metrics for autoscaling, and shut down on a signal.
func TestKubernetesPodsRun(t *testing.T) {
	list := kustomized(t, "base")
	config := maps.Clone(of[core.ConfigMap](list)[0].Data)
	n := startNode(t)
	n.setup(t)
	pods := map[string]*cairntest.Process{}
	ask := ""
	scaled := map[string]*autoscaling.HorizontalPodAutoscaler{}
	for _, h := range of[autoscaling.HorizontalPodAutoscaler](list) {
		scaled[h.Spec.ScaleTargetRef.Name] = h
	}
	values := map[string]string{}
	deployments := slices.SortedFunc(slices.Values(of[apps.Deployment](list)), func(a, b *apps.Deployment) int {
		// workers first: an edge is ready only when all services reply
		return strings.Compare(b.Labels["cairn"], a.Labels["cairn"])
	})
	for _, d := range deployments {
		p, metrics := n.pod(t, d, config)
		pods[d.Name] = p
		values[d.Name] = metrics
		if d.Name == "edge" {
			ask = p.URL()
		}
		c := d.Spec.Template.Spec.Containers[0]
		for _, probe := range []*core.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			probed(t, d.Name, metrics+probe.HTTPGet.Path)
		}
	}
	if out, err := cairntest.Run(t, nil, "ask", "--url", ask, "--estate", "../../deploy/examples/estate.json",
		"how many hosts?"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for name, metrics := range values {
		metric := scaled[name].Spec.Metrics[0].Pods.Metric
		series := "(?m)^" + metric.Name
		if metric.Selector != nil {
			series += `\{service="` + metric.Selector.MatchLabels["service"] + `"`
		}
		if _, out := cairntest.Get(t, metrics+"/metrics"); !regexp.MustCompile(series).MatchString(out) {
			t.Errorf("%s does not export %s, the metric of its autoscaler", name, series)
		}
	}
	for name, p := range pods {
		if err := p.Stop(); err != nil || strings.Contains(p.Stdout.String()+p.Stderr.String(), password) {
			t.Errorf("%s ends with %v:\n%s%s", name, err, p.Stdout, p.Stderr)
		}
	}
	for _, v := range n.Violations() {
		t.Errorf("the server refuses: %s", v)
	}
}

// probed returns when the probe succeeds.
func probed(t *testing.T, name, probe string) {
	t.Helper()
	wait.Success(t, func() error {
		if status, out := cairntest.Get(t, probe); status != 200 {
			return fmt.Errorf("%s: %s is %d %s", name, probe, status, out)
		}
		return nil
	})
}

// TestKubernetesEdgeFailsClosed starts the edge of each manifest with an empty CAIRN_AUTH,
// the result of a missing ConfigMap value.
func TestKubernetesEdgeFailsClosed(t *testing.T) {
	t.Parallel()
	for _, directory := range []string{"small", "production", completed} {
		for _, d := range of[apps.Deployment](kustomized(t, directory)) {
			c := d.Spec.Template.Spec.Containers[0]
			for _, v := range c.Env {
				if v.Name == "CAIRN_INSECURE" {
					t.Errorf("%s: %s has CAIRN_INSECURE=%s", directory, d.Name, v.Value)
				}
			}
			if d.Name != "edge" {
				continue
			}
			env := settings(t, c, map[string]string{
				"CAIRN_NATS": "nats://127.0.0.1:1", "CAIRN_AUTH": "", "CAIRN_METRICS": "127.0.0.1:0",
				"CAIRN_TLS_CERT": "", "CAIRN_TLS_KEY": "", "CAIRN_NATS_CA": "",
			})
			p := cairntest.Launch(cairntest.Command(cairntest.Program(t), env, c.Args...))
			err := p.Wait()
			if code := p.Cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(p.Stderr.String(), "--auth") {
				t.Errorf("%s: an edge with an empty CAIRN_AUTH: %v; want a refusal to start", directory, err)
			}
		}
	}
}

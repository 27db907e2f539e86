package main

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"

	"cairn/bus/bustest"
)

// pod starts the container of a Deployment as a process on the node. It returns when the
// process is ready, with its metrics URL.
func (n node) pod(t *testing.T, d *apps.Deployment, config map[string]string) (p *running, metrics string) {
	t.Helper()
	c := d.Spec.Template.Spec.Containers[0]
	user := map[bool]string{true: "edge", false: "worker"}[d.Name == "edge"]
	metrics = bustest.FreeAddress(t)
	told := settings(t, c, map[string]string{
		"CAIRN_NATS": n.secret(user + "-url"), "CAIRN_READER_NATS": n.secret("reader-url"),
		"CAIRN_METRICS": metrics, "CAIRN_HTTP": "127.0.0.1:0", "CAIRN_AUTH": "off",
		"CAIRN_INDEX": config["index"], "CAIRN_EMBED": config["embed"], "CAIRN_MODEL": config["model"],
	})
	cmd := program(context.Background(), c.Args...)
	for _, v := range c.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+told[v.Name])
	}
	p = begin(t, cmd)
	p.says(t, d.Name+" on")
	return p, "http://" + metrics
}

// TestKubernetesPodsRun runs the Deployments as the users of nats.conf and checks that
// they become ready, expose the metrics for autoscaling, and shut down on a signal.
func TestKubernetesPodsRun(t *testing.T) {
	list := kustomized(t, "base")
	config := maps.Clone(of[core.ConfigMap](list)[0].Data)
	n := startNode(t, "nats-1", single)
	n.setup(t, "1")
	pods := map[string]*running{}
	ask := ""
	scaled := map[string]*autoscaling.HorizontalPodAutoscaler{}
	for _, h := range of[autoscaling.HorizontalPodAutoscaler](list) {
		scaled[h.Spec.ScaleTargetRef.Name] = h
	}
	told := map[string]string{}
	deployments := slices.SortedFunc(slices.Values(of[apps.Deployment](list)), func(a, b *apps.Deployment) int {
		return strings.Compare(b.Labels["cairn"], a.Labels["cairn"]) // workers first: an edge is ready only when all services reply
	})
	for _, d := range deployments {
		p, metrics := n.pod(t, d, config)
		pods[d.Name] = p
		told[d.Name] = metrics
		if d.Name == "edge" {
			_, after, _ := strings.Cut(p.out.String(), "edge on ")
			ask = addressed.FindString(after)
		}
		c := d.Spec.Template.Spec.Containers[0]
		for _, probe := range []*core.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			probed(t, d.Name, metrics+probe.HTTPGet.Path)
		}
	}
	if got := do(t, "", "ask", "--url", ask, "--estate", "../examples/estate.json", "how many hosts?"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	for name, metrics := range told {
		metric := scaled[name].Spec.Metrics[0].Pods.Metric
		series := "(?m)^" + metric.Name
		if metric.Selector != nil {
			series += `\{service="` + metric.Selector.MatchLabels["service"] + `"`
		}
		if _, said := asks(t, "GET", metrics+"/metrics", ""); !regexp.MustCompile(series).MatchString(said) {
			t.Errorf("%s does not tell %s, by which it is scaled", name, series)
		}
	}
	for name, p := range pods {
		p.signal(t)
		if code := p.ends(t); code != 0 || strings.Contains(p.out.String(), password) {
			t.Errorf("%s ends with %d:\n%s", name, code, p.out)
		}
	}
	for _, v := range n.said.all() {
		t.Errorf("the server refuses: %s", v)
	}
}

// probed returns when the probe succeeds.
func probed(t *testing.T, name, probe string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(20 * time.Second); ; <-tick.C {
		status, said := asks(t, "GET", probe, "")
		if status == 200 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%s: %s is %d %s", name, probe, status, said)
		}
	}
}

// TestKubernetesEdgeFailsClosed starts the edge of each manifest with an empty CAIRN_AUTH,
// the result of a missing ConfigMap value.
func TestKubernetesEdgeFailsClosed(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"small", "production", completed} {
		for _, d := range of[apps.Deployment](kustomized(t, folder)) {
			c := d.Spec.Template.Spec.Containers[0]
			for _, v := range c.Env {
				if v.Name == "CAIRN_INSECURE" {
					t.Errorf("%s: %s has CAIRN_INSECURE=%s", folder, d.Name, v.Value)
				}
			}
			if d.Name != "edge" {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			cmd := program(ctx, c.Args...)
			for name, value := range settings(t, c, map[string]string{
				"CAIRN_NATS": "nats://127.0.0.1:1", "CAIRN_AUTH": "", "CAIRN_METRICS": "127.0.0.1:0", "CAIRN_TLS_CERT": "", "CAIRN_TLS_KEY": "", "CAIRN_NATS_CA": "",
			}) {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			said, err := cmd.CombinedOutput()
			if err == nil || ctx.Err() != nil || !strings.Contains(string(said), "--auth") {
				t.Errorf("%s: an edge with an empty CAIRN_AUTH: %v, %s; want it to refuse to start", folder, err, said)
			}
		}
	}
}

package kubernetes

import (
	"slices"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"cairn/bus"
)

// pods returns all pod templates by the name of their controller.
func pods(t *testing.T, directory string) map[string]core.PodTemplateSpec {
	t.Helper()
	all := map[string]core.PodTemplateSpec{}
	list := kustomized(t, directory)
	for _, d := range of[apps.Deployment](list) {
		all[d.Name] = d.Spec.Template
		if !selects(t, d.Spec.Selector, d.Spec.Template) {
			t.Errorf("%s selects none of its pods", d.Name)
		}
	}
	for _, s := range of[apps.StatefulSet](list) {
		all[s.Name] = s.Spec.Template
		if !selects(t, s.Spec.Selector, s.Spec.Template) {
			t.Errorf("%s selects none of its pods", s.Name)
		}
	}
	return all
}

func selects(t *testing.T, s *meta.LabelSelector, p core.PodTemplateSpec) bool {
	t.Helper()
	selector, err := meta.LabelSelectorAsSelector(s)
	if err != nil {
		t.Error(err)
		return false
	}
	return selector.Matches(labels.Set(p.Labels))
}

// selected returns the sorted names of the pods that s selects.
func selected(t *testing.T, all map[string]core.PodTemplateSpec, s *meta.LabelSelector) (names []string) {
	t.Helper()
	for name, p := range all {
		if selects(t, s, p) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func hasPort(p core.PodTemplateSpec, port intstr.IntOrString) bool {
	return slices.ContainsFunc(p.Spec.Containers[0].Ports, func(own core.ContainerPort) bool {
		return port.Type == intstr.String && own.Name == port.StrVal ||
			port.Type == intstr.Int && own.ContainerPort == port.IntVal
	})
}

// TestKubernetesIsWired checks that every reference to a pod or port has a target.
func TestKubernetesIsWired(t *testing.T) {
	t.Parallel()
	for _, directory := range []string{"small", "production", completed} {
		all, list := pods(t, directory), kustomized(t, directory)
		for _, s := range of[core.Service](list) {
			names := selected(t, all, &meta.LabelSelector{MatchLabels: s.Spec.Selector})
			if len(names) != 1 {
				t.Fatalf("%s: the service %s is %v", directory, s.Name, names)
			}
			for _, p := range s.Spec.Ports {
				if !hasPort(all[names[0]], p.TargetPort) {
					t.Errorf("%s: %s has no port %v", directory, s.Name, p.TargetPort)
				}
			}
		}
		for _, b := range of[policy.PodDisruptionBudget](list) {
			if names := selected(t, all, b.Spec.Selector); len(names) != 1 || names[0] != b.Name {
				t.Errorf("%s: the disruption budget %s selects %v", directory, b.Name, names)
			}
		}
		if got := len(of[policy.PodDisruptionBudget](list)); got != len(all) {
			t.Errorf("%s: %d disruption budgets for %d controllers", directory, got, len(all))
		}
		for _, n := range of[networking.NetworkPolicy](list) {
			names := selected(t, all, &n.Spec.PodSelector)
			if len(names) == 0 {
				t.Errorf("%s: the policy %s selects no pod", directory, n.Name)
			}
			for _, rule := range n.Spec.Ingress {
				for _, p := range rule.Ports {
					for _, name := range names {
						if !hasPort(all[name], *p.Port) {
							t.Errorf("%s: %s admits traffic to %s on port %v, which it does not have", directory, n.Name, name, p.Port)
						}
					}
				}
			}
		}
		for _, h := range of[autoscaling.HorizontalPodAutoscaler](list) {
			if _, ok := all[h.Spec.ScaleTargetRef.Name]; !ok || h.Spec.ScaleTargetRef.Name != h.Name ||
				len(h.Spec.Metrics) != 1 ||
				h.Spec.Metrics[0].Pods == nil {
				t.Errorf("%s: %s scales %v by %v", directory, h.Name, h.Spec.ScaleTargetRef, h.Spec.Metrics)
			}
		}
	}
}

// TestKubernetesPods checks that every role has pods which meet the Pod Security Standard
// restricted, have probes, and have time to drain.
func TestKubernetesPods(t *testing.T) {
	t.Parallel()
	all := pods(t, "production")
	for _, role := range append(bus.Services(), "render", "edge", "nats") {
		if _, ok := all[role]; !ok {
			t.Errorf("no pod runs %s", role)
		}
	}
	for name, p := range all {
		c := p.Spec.Containers[0]
		restricted(t, name, p)
		for _, probe := range []*core.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			if probe == nil || probe.HTTPGet == nil || !hasPort(p, probe.HTTPGet.Port) {
				t.Errorf("%s has no probe, or one for an unknown port: %v", name, probe)
			}
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() || c.Resources.Limits.Cpu().IsZero() {
			t.Errorf("%s: %v", name, c.Resources)
		}
		if len(p.Spec.TopologySpreadConstraints) == 0 {
			t.Errorf("%s has no topology spread constraints", name)
		}
		if name != "nats" {
			checkTermination(t, name, p)
		}
	}
}

// checkTermination checks that the termination grace period exceeds the drain and that no
// environment variable contains a URL with a password.
func checkTermination(t *testing.T, name string, p core.PodTemplateSpec) {
	t.Helper()
	var wait time.Duration
	if l := p.Spec.Containers[0].Lifecycle; l != nil {
		wait = time.Duration(l.PreStop.Sleep.Seconds) * time.Second
	}
	for _, v := range p.Spec.Containers[0].Env {
		if v.Name == "CAIRN_DRAIN" {
			drain, err := time.ParseDuration(v.Value)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			wait += drain
		}
		if v.ValueFrom == nil && strings.Contains(v.Value, "://") {
			t.Errorf("%s: %s=%s may contain a password", name, v.Name, v.Value)
		}
	}
	if grace := time.Duration(*p.Spec.TerminationGracePeriodSeconds) * time.Second; grace < wait+10*time.Second {
		t.Errorf("%s is killed after %v; its drain takes %v, plus the flush of streams and traces", name, grace, wait)
	}
}

// TestKubernetesKeepsNoSecret checks that the manifests contain no Secret.
func TestKubernetesKeepsNoSecret(t *testing.T) {
	t.Parallel()
	for _, directory := range []string{"small", "production"} {
		if n := len(of[core.Secret](kustomized(t, directory))); n != 0 {
			t.Errorf("%s has %d secrets", directory, n)
		}
	}
}

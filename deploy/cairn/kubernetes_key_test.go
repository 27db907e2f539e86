package main

import (
	"context"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
)

// The Job makes a key as the operator of nats.conf, in a pod that the namespace
// and the policies let do so.
func TestKubernetesMakesTheFirstKey(t *testing.T) {
	job := of[batch.Job](kustomized(t, "key"))[0]
	pod := job.Spec.Template
	c := pod.Spec.Containers[0]
	restricted(t, "key", pod)
	var way []string
	for _, n := range of[networking.NetworkPolicy](kustomized(t, "small")) {
		if selects(t, &n.Spec.PodSelector, pod) {
			way = append(way, n.Name)
		}
		for _, in := range n.Spec.Ingress {
			for _, from := range in.From {
				if from.PodSelector != nil && from.NamespaceSelector == nil && selects(t, from.PodSelector, pod) {
					way = append(way, "to "+n.Name)
				}
			}
		}
	}
	if got := strings.Join(way, " "); !strings.Contains(got, "names") || !strings.Contains(got, "bus") || !strings.Contains(got, "to nats") {
		t.Errorf("its way to NATS is %q", got)
	}
	n := startNode(t, "nats-1", single)
	at := (&url.URL{Scheme: "nats", User: url.UserPassword("operator", password), Host: n.Addr().String()}).String()
	cmd := program(context.Background(), c.Args...)
	for name, value := range settings(t, c, map[string]string{"CAIRN_NATS": at}) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	p := begin(t, cmd)
	if code := p.ends(t); code != 0 || !regexp.MustCompile(`(?m)^cairn_\w+_\w+$`).MatchString(p.out.String()) {
		t.Errorf("it ends with %d:\n%s", code, p.out)
	}
}

// The command of the README makes all that is asked of the secret.
func TestKubernetesSecretIsMade(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, folder := range []string{"small", "production", "key"} {
		list := kustomized(t, folder)
		all := pods(t, folder)
		for _, j := range of[batch.Job](list) {
			all[j.Name] = j.Spec.Template
		}
		for _, p := range all {
			for _, v := range p.Spec.Containers[0].Env {
				if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
					asked[v.ValueFrom.SecretKeyRef.Key] = true
				}
			}
		}
	}
	if len(asked) < 8 {
		t.Errorf("asked for is %v", asked)
	}
	for key := range asked {
		if !strings.Contains(string(readme), "--from-literal="+key+"=") {
			t.Errorf("the README makes no %s", key)
		}
	}
}

// restricted checks that a namespace takes the pod that enforces that.
func restricted(t *testing.T, name string, p core.PodTemplateSpec) {
	t.Helper()
	s, own := p.Spec.SecurityContext, p.Spec.Containers[0].SecurityContext
	if s == nil || own == nil {
		t.Errorf("%s may what it likes", name)
		return
	}
	if !*s.RunAsNonRoot || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault || *own.AllowPrivilegeEscalation || !*own.ReadOnlyRootFilesystem ||
		len(own.Capabilities.Drop) != 1 || own.Capabilities.Drop[0] != "ALL" || *p.Spec.AutomountServiceAccountToken {
		t.Errorf("%s may more than it needs", name)
	}
}

// Package kubescore checks the manifests of deploy/kubernetes with kube-score. It is a
// separate module, because kube-score needs an earlier version of the Kubernetes libraries
// than other tests.
package kubescore

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zegl/kube-score/config"
	"github.com/zegl/kube-score/domain"
	"github.com/zegl/kube-score/parser"
	"github.com/zegl/kube-score/score"
	"github.com/zegl/kube-score/score/checks"
	"github.com/zegl/kube-score/scorecard"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const manifests = "../../deploy/kubernetes/"

// scoreExemptions are the checks of kube-score that the manifests do not pass, with reasons.
var scoreExemptions = map[string]string{
	"container-image-tag": "the image cairn has no registry and no tag here: an installation sets both in its own kustomization",
}

// scored is a file with the objects of kustomizations.
type scored struct {
	io.Reader
	name string
}

// Name implements domain.NamedReader.
func (s scored) Name() string { return s.name }

// manifest returns the objects of a kustomization as YAML. A component is applied to the
// kustomization of production.
func manifest(t *testing.T, directory string) []byte {
	t.Helper()
	if strings.HasPrefix(directory, "component ") {
		work := t.TempDir()
		if err := os.CopyFS(work, os.DirFS(manifests)); err != nil {
			t.Fatal(err)
		}
		text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: cairn\nresources: [../production]\ncomponents: [../" +
			strings.TrimPrefix(directory, "component ") + "]\n"
		if err := os.Mkdir(filepath.Join(work, "with"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(work, "with", "kustomization.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		directory = filepath.Join(work, "with")
	} else {
		directory = manifests + directory
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		t.Fatal(err)
	}
	text, err := resources.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestKubeScore checks that every kustomization passes kube-score at its default level: it
// has no critical finding. Jobs are scored with the network policies of the base.
func TestKubeScore(t *testing.T) {
	t.Parallel()
	failed := map[string]bool{}
	for name, directories := range map[string][]string{
		"base": {"base", "nats"}, "small": {"small"}, "production": {"production"}, "setup": {"base", "nats", "setup"},
		"key": {"base", "nats", "key"}, "render": {"base", "nats", "render"},
		"tls": {"component tls"}, "oidc": {"component oidc"}, "traces": {"component traces"},
	} {
		var files []domain.NamedReader
		for _, d := range directories {
			files = append(files, scored{bytes.NewReader(manifest(t, d)), d})
		}
		p, err := parser.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := p.ParseFiles(files)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		run := &config.RunConfiguration{KubernetesVersion: config.Semver{Major: 1, Minor: 31}}
		card, err := score.Score(objects, score.RegisterAllChecks(objects, &checks.Config{}, run), run)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(*card) < 5 {
			t.Errorf("%s: %d objects were scored", name, len(*card))
		}
		for _, object := range *card {
			for _, check := range object.Checks {
				if check.Skipped || check.Grade > scorecard.GradeCritical {
					continue
				}
				if failed[check.Check.ID] = true; scoreExemptions[check.Check.ID] == "" {
					t.Errorf("%s: %s: %s: %+v", name, object.HumanFriendlyRef(), check.Check.ID, check.Comments)
				}
			}
		}
	}
	for check := range scoreExemptions {
		if !failed[check] {
			t.Errorf("the exempt check %s passes: remove the exemption", check)
		}
	}
}

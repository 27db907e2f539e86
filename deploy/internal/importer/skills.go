package importer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/schemas/member"
	"cairn/schemas/skillfile"
)

const (
	// maxFiles bounds the files and directories of a folder of skills.
	maxFiles = 100_000
	// maxSkillFile bounds a SKILL.md in bytes: the longest instructions of a record fit.
	maxSkillFile = 512 << 10
	// maxLenient bounds the encoded resources of a skill with Lenient, in bytes: a record is at most
	// 1 MiB.
	maxLenient    = 800 << 10
	defaultDomain = "skills"
)

// readSkills returns the skills of a directory: each directory at or below it that has a
// SKILL.md, with its other files as resources. Hidden files are skipped.
func readSkills(ctx context.Context, s *source) ([]entry, error) {
	if s.url != nil || len(s.Command) > 0 {
		return nil, errors.New("expected a directory")
	}
	dir := s.Source
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // opened for reading only
	top, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	f := folder{source: s, root: root, dir: dir, base: filepath.Base(top)}
	skills, err := f.find(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]entry, 0, len(skills))
	for _, dir := range skills {
		text, exported, err := f.skill(dir)
		list = append(list, entry{location: f.location(dir), text: text, err: err, exported: exported})
		s.Read(1)
		if err := cmp.Or(ctx.Err(), tooMany(list)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// folder is a directory of skills. Its root does not open files outside of it, not even through
// symbolic links.
type folder struct {
	source    *source
	root      *os.Root
	dir, base string // as given, and its name
	files     int
}

// location returns the path of the SKILL.md in messages.
func (f *folder) location(skill skillDir) string {
	return filepath.ToSlash(filepath.Join(f.dir, skill.path, skill.file))
}

// skillDir is a directory with a SKILL.md.
type skillDir struct{ path, file string }

func (f *folder) name(d skillDir) string {
	if d.path == "." {
		return f.base
	}
	return path.Base(d.path)
}

// find returns the directories of skills, in lexical order.
func (f *folder) find(ctx context.Context) (list []skillDir, err error) {
	err = fs.WalkDir(f.root.FS(), ".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return cmp.Or(err, f.count(ctx))
		}
		if hidden(dir) {
			return fs.SkipDir
		}
		for _, name := range []string{skillfile.FileName, "skill.md"} {
			if info, err := f.root.Stat(path.Join(dir, name)); err == nil && info.Mode().IsRegular() {
				list = append(list, skillDir{dir, name})
				return fs.SkipDir
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return f.count(ctx)
	})
	return list, err
}

// count adds a file, and returns an error beyond the limit.
func (f *folder) count(ctx context.Context) error {
	if f.files++; f.files > maxFiles {
		return fmt.Errorf("expected at most %d files", maxFiles)
	}
	return ctx.Err()
}

func hidden(file string) bool { return file != "." && strings.HasPrefix(path.Base(file), ".") }

// skill returns the record of a skill.
func (f *folder) skill(d skillDir) (text jsontext.Value, exported bool, err error) {
	file, err := f.read(path.Join(d.path, d.file), maxSkillFile)
	if err != nil {
		return nil, false, err
	}
	files, omitted, err := f.resources(d)
	if err != nil {
		return nil, false, err
	}
	manifest := slices.IndexFunc(files, func(r schemas.Resource) bool { return r.Path == skillfile.PackageFile })
	var original jsontext.Value
	if manifest >= 0 {
		content, _ := files[manifest].Content() // of this program
		if original, err = packagedSkill(content); err != nil {
			return nil, false, fmt.Errorf("%s: %w", skillfile.PackageFile, err)
		}
		files = slices.Delete(files, manifest, manifest+1)
	}
	if original != nil {
		text, err = f.exportedSkill(original, d, file, files)
		return text, true, err
	}
	head, body, err := f.parse(d, file)
	if err != nil {
		return nil, false, err
	}
	text, err = head.record(cmp.Or(f.source.Domain, defaultDomain), body, files)
	if err == nil && len(omitted) > 0 {
		text, err = member.Append(text, member.Member{Name: "omitted_resources", Value: omitted})
	}
	return text, false, err
}

// resources returns the files of a skill other than its SKILL.md, in lexical order. With
// Lenient, it omits files beyond the limits of a record and returns their paths.
func (f *folder) resources(d skillDir) (list []schemas.Resource, omitted []string, err error) {
	count, total, encoded := 0, 0, 0
	err = fs.WalkDir(f.root.FS(), d.path, func(file string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = f.count(context.Background())
		}
		name := strings.TrimPrefix(file, d.path+"/")
		switch {
		case err != nil:
			return err
		case file != d.path && hidden(file) && entry.IsDir():
			return fs.SkipDir
		case hidden(file) || entry.IsDir() || name == d.file:
			return nil
		}
		content, err := f.read(file, maxDocument)
		if err != nil {
			return err
		}
		if name == skillfile.PackageFile {
			list = append(list, resource(name, content))
			return nil
		}
		r := resource(name, content)
		size := encodedSize(r)
		if f.source.Lenient && (count == schemas.MaxResources || encoded+size > maxLenient) {
			omitted = append(omitted, name)
			return nil
		}
		count, total, encoded = count+1, total+len(content), encoded+size
		if count > schemas.MaxResources || total > schemas.MaxResourceBytes {
			return fmt.Errorf("expected at most %d files of %d bytes together beside %s", schemas.MaxResources,
				schemas.MaxResourceBytes, d.file)
		}
		list = append(list, r)
		return nil
	})
	return list, omitted, err
}

// encodedSize returns the size of a resource in a record.
func encodedSize(r schemas.Resource) int {
	text, _ := json.Marshal(r) // cannot fail: the content is valid UTF-8 or base64
	return len(text)
}

func resource(name string, content []byte) schemas.Resource {
	r := schemas.Resource{Path: name}
	if utf8.Valid(content) && bytes.IndexByte(content, 0) < 0 {
		r.Text = new(string(content))
	} else {
		r.Data = new(base64.StdEncoding.EncodeToString(content))
	}
	return r
}

// read returns the content of a regular file.
func (f *folder) read(name string, maximum int) ([]byte, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: expected a regular file, or a symbolic link to one", name)
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	content, err := io.ReadAll(io.LimitReader(file, int64(maximum)+1))
	if err == nil && len(content) > maximum {
		err = fmt.Errorf("%s: expected at most %d bytes", name, maximum)
	}
	return content, err
}

// packagedSkill returns the skill of the package that export has written.
func packagedSkill(content []byte) (jsontext.Value, error) {
	var p struct {
		Skill jsontext.Value `json:"skill"`
	}
	if err := json.Unmarshal(content, &p); err != nil {
		return nil, err
	}
	var s schemas.Skill
	if err := json.Unmarshal(p.Skill, &s); err != nil || s.SkillID == "" {
		return nil, fmt.Errorf("skill: expected a skill with a skill_id, got %.40s (%w)", p.Skill, err)
	}
	return member.Without(p.Skill, "tenant_id")
}

// parse returns the parts of a SKILL.md.
func (f *folder) parse(d skillDir, file []byte) (head frontmatter, body string, err error) {
	if head, body, err = parseSkillFile(file); err == nil {
		err = head.validate(f.name(d), f.source.Lenient)
	}
	return head, body, err
}

// exportedSkill returns an exported record with the changes to its SKILL.md and files. An unchanged SKILL.md need
// not be valid.
func (f *folder) exportedSkill(original jsontext.Value, d skillDir, file []byte,
	files []schemas.Resource) (jsontext.Value, error) {
	skill, err := schemas.DecodeStored[schemas.Skill](schemas.KindSkill, original)
	if err != nil {
		return nil, err
	}
	rendered, err := skillfile.Export(skill, original, f.name(d))
	if err != nil {
		return nil, err
	}
	if bytes.Equal(rendered, file) {
		return withFiles(original, files)
	}
	head, body, err := f.parse(d, file)
	if err != nil {
		return nil, err
	}
	before := skillfile.FrontmatterOf(skill, original)
	if !maps.Equal(head.Metadata, before.Metadata) {
		if original, err = member.Append(original,
			member.Member{Name: "metadata", Value: ownMetadata(head.Metadata)}); err != nil {
			return nil, err
		}
	}
	for _, field := range []struct{ name, before, after string }{
		{"description", before.Description, head.Description}, {"license", before.License, head.License},
		{"instructions", strings.TrimSpace(skillfile.Body(skill)), body},
		{"compatibility", before.Compatibility, head.Compatibility},
		{"allowed_tools", before.AllowedTools, head.AllowedTools},
	} {
		if field.after == field.before {
			continue
		}
		if original, err = member.Append(original, member.Member{Name: field.name, Value: field.after}); err != nil {
			return nil, err
		}
	}
	return withFiles(original, files)
}

// ownMetadata returns the metadata of a file that Cairn has rendered without the fields of the
// record.
func ownMetadata(m map[string]string) map[string]string {
	own := maps.Clone(m)
	for _, name := range []string{skillfile.MetadataID, skillfile.MetadataVersion, skillfile.MetadataLabels,
		skillfile.MetadataStatus, skillfile.MetadataReplacedBy} {
		delete(own, name)
	}
	return own
}

// withFiles returns the record with the files as its resources. Existing resources keep their
// other fields and their encoding (text or base64).
func withFiles(record jsontext.Value, files []schemas.Resource) (jsontext.Value, error) {
	var before struct {
		Resources []jsontext.Value `json:"resources"`
	}
	_ = json.Unmarshal(record, &before) // resources of another type were stored without interpretation
	if len(files) == 0 && len(before.Resources) == 0 {
		return record, nil
	}
	list := []any{}
	for _, text := range before.Resources {
		var r schemas.Resource
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, err
		}
		i := slices.IndexFunc(files, func(f schemas.Resource) bool { return f.Path == r.Path })
		if i < 0 {
			continue // deleted
		}
		same, err := withContent(text, r, files[i])
		if err != nil {
			return nil, err
		}
		list = append(list, same)
		files = slices.Delete(files, i, i+1)
	}
	for _, added := range files {
		list = append(list, added)
	}
	return member.Append(record, member.Member{Name: "resources", Value: list})
}

// withContent returns the resource r, which text encodes, with the content of a file.
func withContent(text jsontext.Value, r, file schemas.Resource) (jsontext.Value, error) {
	if r.Data != nil && file.Data == nil {
		file.Data, file.Text = new(base64.StdEncoding.EncodeToString([]byte(*file.Text))), nil
	}
	content := member.Member{Name: "text", Value: file.Text}
	if file.Data != nil {
		content = member.Member{Name: "data", Value: file.Data}
	}
	text, err := member.Without(text, "text", "data", "sha256", "size")
	if err != nil {
		return nil, err
	}
	return member.Append(text, content)
}

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
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"cairn/deploy/internal/flags"
	"cairn/schemas"
	"cairn/schemas/member"
	"cairn/schemas/skillfile"
)

const (
	// maxFiles bounds the files and directories of a folder of skills.
	maxFiles = 100_000
	// maxSkillFile bounds a SKILL.md in bytes: the longest instructions of a record fit.
	maxSkillFile = 512 << 10
	// maxEncoded bounds the encoded instructions and resources of a skill in bytes: a record is at most 1 MiB.
	maxEncoded    = 1<<20 - 64<<10
	defaultDomain = "skills"
)

// readSkills returns the skills of a directory: each directory at or below it that has a
// SKILL.md, with its other files as resources. Hidden files are skipped.
func readSkills(ctx context.Context, s *source) ([]entry, error) {
	if s.url != nil || len(s.Command) > 0 {
		return nil, flags.Usage(errors.New("expected a directory"))
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
	switch {
	case err != nil:
		return nil, err
	case len(skills) == 0:
		return nil, flags.Usage(errors.New("expected directories with a SKILL.md; hidden ones are skipped"))
	}
	list := make([]entry, 0, len(skills))
	for _, dir := range skills {
		list = append(list, f.entry(ctx, dir))
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
	counted   int    // files and directories
}

// location returns the path of the SKILL.md in messages.
func (f *folder) location(skill skillDir) string {
	return filepath.ToSlash(filepath.Join(f.dir, skill.path, skill.file))
}

// skillDir is a directory with a SKILL.md.
type skillDir struct {
	path, file string
	text       []byte // of the file, once it is read
}

func (f *folder) name(d skillDir) string {
	if d.path == "." {
		return f.base
	}
	return path.Base(d.path)
}

// find returns the directories of skills, in lexical order.
func (f *folder) find(ctx context.Context) (list []skillDir, err error) {
	err = fs.WalkDir(f, ".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return cmp.Or(err, f.count(ctx))
		}
		if hidden(dir) {
			return fs.SkipDir
		}
		for _, name := range []string{skillfile.FileName, "skill.md"} {
			info, err := f.root.Stat(path.Join(dir, name))
			if err == nil && info.Mode().IsRegular() || err != nil && !errors.Is(err, fs.ErrNotExist) {
				list = append(list, skillDir{path: dir, file: name}) // entry reports the error
				return fs.SkipDir
			}
		}
		return f.count(ctx)
	})
	return list, err
}

// count adds a file, and returns an error beyond the limit.
func (f *folder) count(ctx context.Context) error {
	if f.counted++; f.counted > maxFiles {
		return errTooManyFiles
	}
	return ctx.Err()
}

var errTooManyFiles = flags.Usage(fmt.Errorf("expected at most %d files and directories", maxFiles))

// Open implements fs.FS.
func (f *folder) Open(name string) (fs.File, error) { return f.root.FS().Open(name) }

// ReadDir implements fs.ReadDirFS. It does not read a directory beyond the limit.
func (f *folder) ReadDir(name string) ([]fs.DirEntry, error) {
	dir, err := f.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // opened for reading only
	list, err := dir.ReadDir(maxFiles + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(list) > maxFiles:
		return nil, errTooManyFiles
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

func hidden(file string) bool { return file != "." && strings.HasPrefix(path.Base(file), ".") }

// entry returns the record of a skill. With Strict, warnings are errors.
func (f *folder) entry(ctx context.Context, d skillDir) entry {
	e := entry{location: f.location(d)}
	e.err = f.read(ctx, d, &e)
	if f.source.Strict && e.err == nil && len(e.warnings) > 0 {
		e.err = fmt.Errorf("%s: %s", e.warnings[0].Field, e.warnings[0].Message)
	}
	return e
}

// read sets the record of a skill, and its warnings.
func (f *folder) read(ctx context.Context, d skillDir, e *entry) (err error) {
	if d.text, err = f.content(path.Join(d.path, d.file), maxSkillFile); err != nil {
		return err
	}
	packaged, err := f.content(path.Join(d.path, skillfile.PackageFile), maxDocument)
	if err == nil {
		e.exported = true
		return f.readExported(ctx, d, packaged, e)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	head, body, err := f.parse(d, e)
	if err != nil {
		return err
	}
	files, err := f.resources(ctx, d, maxEncoded-encodedSize(string(d.text)), e)
	if err != nil {
		return err
	}
	id := ""
	if f.source.ID == IDPath {
		id = f.pathID(d)
	}
	e.text, err = head.record(id, f.domain(), body, files)
	if err == nil && len(e.omitted) > 0 {
		names := e.omitted[:min(len(e.omitted), schemas.MaxResources)]
		e.text, err = member.Append(e.text, member.Member{Name: "omitted_resources", Value: names})
	}
	return err
}

// readExported sets the record of a skill that export has written.
func (f *folder) readExported(ctx context.Context, d skillDir, packaged []byte, e *entry) error {
	original, err := packagedSkill(packaged)
	if err != nil {
		return fmt.Errorf("%s: %w", skillfile.PackageFile, err)
	}
	files, err := f.resources(ctx, d, schemas.MaxResourceBytes, e)
	if err != nil {
		return err
	}
	e.text, err = f.exportedSkill(original, d, files, e)
	return err
}

func (f *folder) domain() string { return cmp.Or(f.source.Domain, defaultDomain) }

// pathID returns the id of a skill with the path of its directory instead of its name.
func (f *folder) pathID(d skillDir) string {
	id := f.domain()
	for name := range strings.SplitSeq(path.Join(path.Dir(d.path), f.name(d)), "/") {
		id += "." + segment(norm.NFKC.String(name))
	}
	return id
}

// resources returns the files of a skill other than its SKILL.md, in lexical order. If they exceed the limits of a
// record, or space when encoded, it chooses those that the SKILL.md names, then the smallest ones, and adds the
// others to those omitted.
func (f *folder) resources(ctx context.Context, d skillDir, space int, e *entry) (list []schemas.Resource, err error) {
	files, err := f.files(ctx, d)
	if err != nil {
		return nil, err
	}
	named := namedFiles(d.text)
	slices.SortStableFunc(files, func(a, b skillFile) int {
		switch first := named[a.path] || named[path.Base(a.path)]; {
		case first == (named[b.path] || named[path.Base(b.path)]):
			return cmp.Compare(a.size, b.size)
		case first:
			return -1
		}
		return 1
	})
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(list) == schemas.MaxResources || file.size > int64(space) {
			e.omitted = append(e.omitted, file.path)
			continue
		}
		content, err := f.content(path.Join(d.path, file.path), space)
		if err != nil {
			return nil, err
		}
		r := resource(file.path, content)
		r.Executable = file.executable
		size := encodedSize(r)
		if size > space {
			e.omitted = append(e.omitted, file.path)
			continue
		}
		space -= size
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b schemas.Resource) int { return strings.Compare(a.Path, b.Path) })
	if slices.Sort(e.omitted); len(e.omitted) > 0 {
		e.warnings = append(e.warnings, schemas.FieldError{Field: "resources", Message: fmt.Sprintf(
			"expected at most %d files of %d bytes together beside %s, got %d files beyond",
			schemas.MaxResources, schemas.MaxResourceBytes, skillfile.FileName, len(e.omitted))})
	}
	return list, nil
}

// skillFile is a file beside a SKILL.md.
type skillFile struct {
	path       string // relative to the directory of the skill
	size       int64
	executable bool
}

// files returns the files of a skill other than its SKILL.md and the package that export has written.
func (f *folder) files(ctx context.Context, d skillDir) (list []skillFile, err error) {
	err = fs.WalkDir(f, d.path, func(file string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = f.count(ctx)
		}
		name := strings.TrimPrefix(file, d.path+"/")
		switch {
		case err != nil:
			return err
		case file != d.path && hidden(file) && entry.IsDir():
			return fs.SkipDir
		case hidden(file) || entry.IsDir() || name == d.file || name == skillfile.PackageFile:
			return nil
		}
		info, err := stat(f.root, file)
		if err == nil {
			list = append(list, skillFile{name, info.Size(), info.Mode()&0o100 != 0})
		}
		return err
	})
	return list, err
}

// pathText matches what may be the path of a file in a text.
var pathText = regexp.MustCompile(`[\pL\pN_][\pL\pN_./-]*[\pL\pN_]`)

// namedFiles returns the words of a text that may be paths.
func namedFiles(text []byte) map[string]bool {
	named := map[string]bool{}
	for _, word := range pathText.FindAll(text, -1) {
		named[string(word)] = true
	}
	return named
}

// encodedSize returns the size of a text or resource in a record.
func encodedSize(value any) int {
	text, _ := json.Marshal(value) // cannot fail: texts are valid UTF-8
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

// content returns the content of a regular file.
func (f *folder) content(name string, maximum int) ([]byte, error) {
	content, err := readFile(f.root, name, maximum)
	if errors.Is(err, errTooLarge) {
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

// parse returns the parts of a SKILL.md, and adds its problems to the warnings.
func (f *folder) parse(d skillDir, e *entry) (head frontmatter, body string, err error) {
	head, body, err = parseSkillFile(d.text, f.name(d))
	e.warnings = append(e.warnings, head.problems...)
	return head, body, err
}

// exportedSkill returns an exported record with the changes to its SKILL.md and files. An unchanged SKILL.md need
// not be valid.
func (f *folder) exportedSkill(original jsontext.Value, d skillDir, files []schemas.Resource,
	e *entry) (jsontext.Value, error) {
	skill, err := schemas.DecodeStored[schemas.Skill](schemas.KindSkill, original)
	if err != nil {
		return nil, err
	}
	rendered, err := skillfile.Export(skill, original, f.name(d))
	if err != nil {
		return nil, err
	}
	if bytes.Equal(rendered, d.text) {
		return withFiles(original, files)
	}
	head, body, err := f.parse(d, e)
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
	text, err := member.Without(text, "text", "data", "sha256", "size", "executable")
	if err != nil {
		return nil, err
	}
	if text, err = member.Append(text, content); err != nil || !file.Executable {
		return text, err
	}
	return member.Append(text, member.Member{Name: "executable", Value: true})
}

package scan

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kortecx/kx/pack"
)

// binary reports a file that is no text, and tells whether the rules for text
// have nothing to look at. A file that claims to be text is always read as text.
func (s *scanner) binary(f *pack.File) bool {
	report := func(id, reason string) {
		r := s.set.rule(id)
		s.put(Finding{Rule: r.ID, Severity: r.Severity, File: f.Path, Reason: first(reason, r.Reason), Fix: r.Fix})
	}
	what, rule := magic(f.Data)
	ext := strings.ToLower(path.Ext(f.Path))
	claim := claims(ext)
	switch {
	case rule == "file.executable" && claim != "" && claim != "binary":
		report("file.disguised", what+" under the name of "+claim)
		return true
	case claim == "an image" && bytes.HasPrefix(f.Data, []byte("#!")):
		report("file.disguised", "a script under the name of an image")
		return false
	case rule == "file.archive" && encryptedZip(f.Data):
		report("file.encrypted-archive", "")
		return true
	case rule == "file.archive" && (ext == ".jar" || ext == ".war" || ext == ".apk"):
		report("file.bytecode", "")
		return true
	case rule == "file.archive" && officeFile(ext):
		return true
	case rule != "":
		report(rule, "")
		return true
	case what != "": // an image, a font and the like
		return claim != "a text"
	}
	if text, ok := wideText(f.Data); ok {
		f.Data = text
		return false
	}
	if claim != "a text" && bytes.IndexByte(f.Data[:min(len(f.Data), 8<<10)], 0) >= 0 {
		f.Data = stringsOf(f.Data)
		return len(f.Data) == 0
	}
	return false
}

// magic tells by its first bytes what a file is, and the rule that it breaks.
func magic(data []byte) (what, rule string) {
	has := func(prefix string) bool { return bytes.HasPrefix(data, []byte(prefix)) }
	switch {
	case has("\x7fELF"):
		return "a Linux program", "file.executable"
	case has("MZ") && len(data) > 64 && (bytes.Contains(data[:min(len(data), 1024)], []byte("PE\x00\x00")) || bytes.Contains(data[:min(len(data), 256)], []byte("DOS mode"))):
		return "a Windows program", "file.executable"
	case has("\xcf\xfa\xed\xfe"), has("\xce\xfa\xed\xfe"), has("\xfe\xed\xfa\xce"), has("\xfe\xed\xfa\xcf"):
		return "a macOS program", "file.executable"
	case has("\xca\xfe\xba\xbe"):
		if len(data) > 8 && data[7] < 40 {
			return "a macOS program", "file.executable"
		}
		return "Java bytecode", "file.bytecode"
	case has("\x00asm"):
		return "WebAssembly", "file.bytecode"
	case len(data) > 16 && data[2] == '\r' && data[3] == '\n' && (data[1] == 0x0d || data[1] == 0x0c || data[1] == 0x0e):
		return "Python bytecode", "file.bytecode"
	case has("PK\x03\x04"), has("PK\x05\x06"), has("\x1f\x8b"), has("7z\xbc\xaf\x27\x1c"), has("Rar!\x1a\x07"), has("BZh"), has("\xfd7zXZ\x00"), has("\x28\xb5\x2f\xfd"),
		len(data) > 262 && string(data[257:262]) == "ustar", len(data) > 512 && bytes.Contains(data[len(data)-512:], []byte("koly")), has("MSCF"), has("xar!"):
		return "an archive", "file.archive"
	case has("\x89PNG"), has("\xff\xd8\xff"), has("GIF8"), has("RIFF"), has("%PDF"), has("OggS"), has("ID3"), has("wOFF"), has("wOF2"), has("\x00\x01\x00\x00"), has("OTTO"), has("BM") && len(data) > 54,
		len(data) > 12 && string(data[4:8]) == "ftyp", has("\x00\x00\x01\x00"), has("SQLite format 3"):
		return "media", ""
	}
	return "", ""
}

// claims says what the ending of a file name promises.
func claims(ext string) string {
	switch ext {
	case ".md", ".txt", ".json", ".yaml", ".yml", ".toml", ".csv", ".html", ".xml", ".sh", ".py", ".js", ".ts", ".rb", ".go", ".css", ".rst", ".ps1":
		return "a text"
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".ico", ".bmp":
		return "an image"
	case ".pdf", ".doc", ".docx", ".xlsx", ".pptx":
		return "a document"
	}
	return ""
}

func officeFile(ext string) bool {
	switch ext {
	case ".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub", ".dotx", ".potx", ".xltx", ".vsdx", ".sketch", ".fig":
		return true
	}
	return false
}

// encryptedZip tells whether an entry of a zip archive needs a password.
func encryptedZip(data []byte) bool {
	for at, n := 0, 0; n < 10000; n++ {
		i := bytes.Index(data[at:], []byte("PK\x03\x04"))
		if i < 0 || at+i+8 > len(data) {
			return false
		}
		if data[at+i+6]&1 != 0 {
			return true
		}
		at += i + 4
	}
	return false
}

// wideText reads UTF-16 text with a byte order mark.
func wideText(data []byte) ([]byte, bool) {
	if len(data) < 4 || !(data[0] == 0xff && data[1] == 0xfe || data[0] == 0xfe && data[1] == 0xff) {
		return nil, false
	}
	big := data[0] == 0xfe
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		if big {
			units = append(units, uint16(data[i])<<8|uint16(data[i+1]))
		} else {
			units = append(units, uint16(data[i+1])<<8|uint16(data[i]))
		}
	}
	var out []byte
	for _, r := range utf16.Decode(units) {
		out = utf8.AppendRune(out, r)
	}
	return out, true
}

// stringsOf is the printable texts of a binary file, a line each.
func stringsOf(data []byte) []byte {
	const shortest, most = 12, 256 << 10
	var out []byte
	for start := 0; start < len(data) && len(out) < most; {
		end := start
		for end < len(data) && (data[end] >= 0x20 && data[end] < 0x7f || data[end] == '\t') {
			end++
		}
		if end-start >= shortest {
			out = append(append(out, data[start:end]...), '\n')
		}
		start = end + 1
	}
	return out
}

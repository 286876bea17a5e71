package scaffold

import (
	"bytes"
	"strings"
)

// PromptSkill is one skill in the block that tells an agent what there is.
type PromptSkill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Location    string `json:"location"` // of the file to read
}

// Prompt is the block that goes into a system prompt: names, descriptions and where
// to read on, as the Agent Skills specification's reference writes it. Text cannot
// end an element.
func Prompt(skills []PromptSkill) []byte {
	var b bytes.Buffer
	b.WriteString("<available_skills>\n")
	for _, s := range skills {
		b.WriteString("<skill>\n")
		for _, part := range []struct{ tag, text string }{
			{"name", s.Name}, {"description", s.Description}, {"location", s.Location},
		} {
			b.WriteString("<" + part.tag + ">\n" + escapeXML(part.text) + "\n</" + part.tag + ">\n")
		}
		b.WriteString("</skill>\n")
	}
	b.WriteString("</available_skills>\n")
	return b.Bytes()
}

func escapeXML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;").Replace(s)
}

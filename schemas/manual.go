package schemas

// ManualPage requests a page of the manual.
type ManualPage struct {
	Page string `json:"page" doc:"name of the page, such as concepts"`
}

// Validate accepts any name; an unknown one is not found.
func (ManualPage) Validate() error { return nil }

// ManualImage requests an image of the manual.
type ManualImage struct {
	Image string `json:"image" doc:"name of the file, such as console-search.png"`
}

// Validate accepts any name; an unknown one is not found.
func (ManualImage) Validate() error { return nil }

// ManualSearch requests a search in the manual.
type ManualSearch struct {
	Q string `json:"q,omitzero" doc:"words that a section must contain"`
}

// Validate accepts any query; the search uses its first 200 bytes.
func (ManualSearch) Validate() error { return nil }

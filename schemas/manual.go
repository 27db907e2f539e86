package schemas

// ManualPage requests a page of the manual.
type ManualPage struct {
	Page string `json:"page" doc:"name of the page, such as concepts"`
}

// ManualImage requests an image of the manual.
type ManualImage struct {
	Image string `json:"image" doc:"name of the file, such as console-search.png"`
}

// ManualSearch requests a search in the manual.
type ManualSearch struct {
	Q string `json:"q,omitzero" doc:"words that a section must contain"`
}

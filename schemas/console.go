package schemas

// ConsoleFile requests a file of the web console.
type ConsoleFile struct {
	Build string `json:"build" doc:"identifies the version of the console"`
	File  string `json:"file" doc:"name of the file, such as app.js"`
}

module github.com/headway-go/headway/examples/recipes

go 1.25.0

require (
	github.com/anthropics/anthropic-sdk-go v1.13.0
	github.com/google/go-github/v75 v75.0.0
	github.com/headway-go/headway v0.0.0
	github.com/openai/openai-go v1.12.0
	github.com/slack-go/slack v0.17.3
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/dunglas/httpsfv v1.1.2 // indirect
	github.com/google/go-querystring v1.1.0 // indirect
	github.com/gorilla/websocket v1.5.3 // indirect
	github.com/tidwall/gjson v1.18.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/time v0.15.0 // indirect
)

replace github.com/headway-go/headway => ../..

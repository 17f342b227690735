module github.com/headway-go/headway/transport/peers

go 1.25.0

require (
	github.com/aws/aws-sdk-go-v2 v1.47.7
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/gofri/go-github-ratelimit/v2 v2.0.2
	github.com/hashicorp/go-retryablehttp v0.7.8
	github.com/headway-go/headway v0.0.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/ratelimit v0.3.1
	golang.org/x/time v0.15.0
)

require (
	github.com/aws/smithy-go v1.28.8 // indirect
	github.com/benbjohnson/clock v1.3.0 // indirect
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
	github.com/dunglas/httpsfv v1.1.2 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/influxdata/tdigest v0.0.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/headway-go/headway => ../..

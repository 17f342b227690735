module github.com/headway-go/headway/.ci/release

go 1.25.0

//go:build !amd64 || purego

package field

func otherAdds() []blocks { return nil }

func otherSubs() []blocks { return nil }

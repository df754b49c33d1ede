//go:build !unix || solaris || illumos || aix || netbsd || openbsd

package member

import "errors"

func freeSpace(string) (uint64, error) {
	return 0, errors.ErrUnsupported
}

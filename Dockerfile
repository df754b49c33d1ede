# An image that holds the member's binary and nothing else. Build it from an unpacked
# release for linux (make release), where the binary lies beside the documents.
FROM scratch
COPY choir-member /choir-member
USER 65532:65532
ENTRYPOINT ["/choir-member"]

# An image with the command, without a shell, whose process is not root.
#
#   docker build -t tracetree .
#   docker run --rm --user "$(id -u)" -v "$PWD:/work" tracetree diff before.json.gz after.json.gz -o report
FROM rust:1-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --profile dist --features full --locked && cp target/dist/tracetree /tracetree

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /tracetree /usr/local/bin/tracetree
COPY LICENSE-MIT LICENSE-APACHE THIRD-PARTY.md /usr/share/doc/tracetree/
WORKDIR /work
USER nonroot
ENTRYPOINT ["/usr/local/bin/tracetree"]

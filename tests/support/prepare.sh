# shellcheck shell=bash disable=SC2154 # who sources it sets source_dir
# Sourced by the commands here: what is missing is installed, then everything is built.

say() {
	printf '== %s\n' "$*" >&2
}

# install_packages [FILE]: installs those of FILE, or tests/support/packages, that are not there. Shows apt's own progress.
install_packages() {
	local missing=() package as_root=()
	while read -r package; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
	done <"${1-$source_dir/tests/support/packages}"
	[ ${#missing[@]} -gt 0 ] || return 0
	[ "$(id -u)" = 0 ] || as_root=(sudo)
	say "installing ${missing[*]}"
	"${as_root[@]}" apt-get update </dev/null
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" </dev/null
}

# build DIRECTORY [CMAKE-OPTION]...: configures and builds, with the compiler's progress shown.
build() {
	local directory=$1
	shift
	say "building in $directory"
	cmake -S "$source_dir" -B "$directory" "$@" >&2
	cmake --build "$directory" --parallel "$(nproc)" >&2
}

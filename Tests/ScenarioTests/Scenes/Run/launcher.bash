# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/run.bash
source "$tests/run.bash"

go cafe
take_everything
as_member
watch_programs
start_agent
tunnel_is corp connected
mkdir -p "$scene/data/applications/kde"
install -d -o 65534 -g 65534 "$scene/home" "$scene/out"
launched() { printf '[Desktop Entry]\nType=Application\nName=%s\nExec=curl --silent --max-time 5 -o "%s" "%s"\n' "$1" "$2" "$3"; }
launched 'The look' "$scene/out/look" http://203.0.113.80/cgi-bin/whoami >"$scene/data/applications/look.desktop"
launched 'Another look' "$scene/out/other look" http://203.0.113.80/cgi-bin/whoami >"$scene/data/applications/kde/look.desktop"
printf '[Desktop Entry]\nType=Application\nName=Odd\nExec=sh -c '"'id'"'\n' >"$scene/data/applications/odd.desktop"
user=("${member[@]}" env "HOME=$scene/home" "XDG_DATA_DIRS=$scene/data" XDG_DATA_HOME=)
app() { "${user[@]}" "$scene/roamward" app "$@" 2>&1 | sed "s|$scene|SCENE|g; s|/tmp/[^ ]*/roamward|SCENE/roamward|" || true; }
# As a menu does it.
launch() {
  rm -f "$scene/out/look" "$scene/out/other look"
  "${user[@]}" gio launch "$1"
  within 10 test -s "$2"
  cat "$2"
}
theirs=$scene/home/.local/share/applications

launch "$scene/data/applications/look.desktop" "$scene/out/look"
app add look --through corp
sed "s|$scene|SCENE|g" "$theirs/look.desktop"
launch "$theirs/look.desktop" "$scene/out/look"
app add look --outside
app add kde-look --through corp --up
launch "$theirs/kde-look.desktop" "$scene/out/other look"
app list
app list --all
app add odd --outside
cp /bin/true "$scene/data/flatpak"
printf '[Desktop Entry]\nType=Application\nName=Boxed\nExec=env A=b %s run org.example.App %%u\n' "$scene/data/flatpak" >"$scene/data/applications/boxed.desktop"
app add boxed --outside
rm "$scene/data/applications/boxed.desktop"
app add loo --outside
app add look --through nowhere
app add ../look --outside
launched Mine "$scene/out/look" http://203.0.113.80/ | "${user[@]}" tee "$theirs/mine.desktop" >/dev/null
cp "$theirs/mine.desktop" "$scene/data/applications/"
app add mine --outside
app remove mine
app remove look
app remove look
app list
"${user[@]}" ls -A "$theirs"
stop_agent

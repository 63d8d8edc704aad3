# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"

go cafe
start_server
plain_policy </dev/null
sed -i 's/^user: .*/user: '"$ACCOUNT"'/' providers/plain-udp.yaml
# A provider that looks at the processes of another one, and then at its own, to show that looking works.
cat >providers/spy <<'END'
#!/usr/bin/env python3
import os, sys, time
def look(pid):
    seen = ['the same user' if os.stat(f'/proc/{pid}').st_uid == os.getuid() else 'another user']
    for name, file in (('memory', 'mem'), ('environment', 'environ')):
        try:
            with open(f'/proc/{pid}/{file}', 'rb') as data: seen.append(f'{name} yes')
        except OSError: seen.append(f'{name} no')
    try:
        os.kill(pid, 0)
        seen.append('signal yes')
    except OSError: seen.append('signal no')
    return ', '.join(seen)
other = int(open('SCENE/other').read())
with open('SCENE/found', 'w') as out: print(look(other), look(os.getpid()), sep='\n', file=out)
time.sleep(60)
END
sed -i "s|SCENE|$scene|" providers/spy
chmod 0755 providers/spy
sed -e 's/^name: .*/name: spy/' -e "s|^program: .*|program: $scene/providers/spy|" providers/plain-udp.yaml >providers/spy.yaml
sed -e 's/^  plain:/  spy:/' -e 's|plain-udp.yaml|spy.yaml|' "$policies/plain.yaml" >"$policies/spy.yaml"
touch found
chmod 0666 found
start_agent
roamward up plain >/dev/null
within 10 field_is plain state connected
plain_process >other
chmod 0644 other
roamward up spy >/dev/null
within 10 eval '[[ $(wc -l <found) -eq 2 ]]'
cat found
roamward down spy >/dev/null
stop_agent

#!/usr/bin/env bash
# Devices log in at both gateways of a pair at once, by password, while one gateway is killed again and again: each has one address of each
# pool, no address is given twice, and what a client was told is what the store has.
#
# $LOGINS: how many devices; $SEED: when what is killed; $LOGIN is a client that logs in.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/postgresql.bash
source "$(dirname "${BASH_SOURCE[0]}")/postgresql.bash"
RANDOM=$SEED
# shellcheck disable=SC2153
echo "seed $SEED, $LOGINS devices"

tell() { tail -n 3 clients/*.err | tail -n 100; }

# The clients are in this namespace. Each has an address of its own: a gateway holds a crowd behind one address up.
ip link add switch type bridge
ip address add 192.0.2.100/24 dev switch
ip link set switch up
for number in {101..200}; do ip address add "192.0.2.$number/24" dev switch; done
build_on_switch one two
gateway one store move --existing "$target" >/dev/null
gateway one init --endpoint 192.0.2.1 --pool 10.77.0.0/20 --pool fd77::/64 >/dev/null
gateway one user add alice
gateway one user set alice --password <<<'correct horse'
gateway one set settings.everybody.devices 10000
gateway one set logins on >/dev/null
pin=$(gateway one login show | sed -n 's/.*pin //p')
cp one/private.key one/login.pem two/
gateway two store move --existing "$target"
gateway two set logins on >/dev/null
serve one
serve two
listens() { [[ -n $(at "$1" ss -Hltn 'sport = :51820') ]]; }
until_so 'the first gateway takes logins' listens one
until_so 'the second gateway takes logins' listens two

# Logs in until it is told an address: at one gateway, and after each failure at the other one.
mkdir clients
cat >client <<'CLIENT'
#!/usr/bin/env bash
key=$(head -c 32 /dev/urandom | base64) host=$1
for _ in {1..200}; do
  host=$((host % 2 + 1))
  SOURCE=192.0.2.$((101 + $1 % 100)) python3 "$LOGIN" "192.0.2.$host" 51820 "$pin" "$key" "d$1" alice 'correct horse' >"clients/$1.out" 2>>"clients/$1.err"
  ! grep '^83 ' "clients/$1.out" >"clients/$1.done" || exit 0
  tail -n 1 "clients/$1.out" >>"clients/$1.err"
  # Nothing but a gateway that is away, or has too much to do, may refuse it.
  ! grep "^84 1=b'.x01'" "clients/$1.out" >>"clients/$1.refused" || exit 1
  sleep "0.$((RANDOM % 5))"
done
exit 1
CLIENT
chmod +x client
export LOGIN pin
seq "$LOGINS" | xargs -P 16 -n 1 ./client &
clients=$!
# Of the first gateway: the running program, the process for logins, or the one that has the connection.
pause() { sleep "$((1 + RANDOM % 4)).$((RANDOM % 10))"; }
kill_meanwhile "$clients" pause 'roamward-gateway serve --state /run/work/one' 'roamward-gateway-auth --at-work' 'roamward-gateway-store --at-work'
wait "$clients" || fail 'a device does not log in'

at_both=$(gateway two audit --lines 10000 | grep -c ' login ' || true)
[[ $(sql 'SELECT count(*) FROM devices') == "$LOGINS" ]] || fail "$(sql 'SELECT count(*) FROM devices') devices"
given=$(sql 'SELECT count(*), count(DISTINCT address) FROM leases WHERE device_id IS NOT NULL')
[[ $given == "$((2 * LOGINS))|$((2 * LOGINS))" ]] || fail "an address is given twice, or none: $given"
several=$(sql 'SELECT count(*) FROM (SELECT 1 FROM leases WHERE device_id IS NOT NULL GROUP BY device_id, pool_id HAVING count(*) > 1) AS several')
[[ $several == 0 ]] || fail "$several devices have several addresses of a pool"
# What each was told (field 5), against the store.
told=$(python3 - clients <<'PYTHON'
import ast, glob, re, sys
for path in glob.glob(sys.argv[1] + "/*.done"):
    line = open(path).read()
    name = ast.literal_eval(re.search(r" 2=(b'.*?'|b\".*?\") 3=", line).group(1)).decode()
    addresses = ast.literal_eval(re.search(r" 5=(b'.*?'|b\".*?\") 6=", line).group(1))
    print(name, addresses[1:5].hex())
PYTHON
)
stored=$(sql "SELECT devices.name || ' ' || encode(address, 'hex') FROM leases JOIN devices ON devices.id = device_id WHERE length(address) = 4")
cmp <(sort <<<"$told") <(sort <<<"$stored") || fail 'clients were told other addresses than the store has'
gateway two store show --check >check.log || fail "the store has problems: $(<check.log)"
gateway two audit --verify >/dev/null || fail 'the audit log is broken'
kill -0 "${serving[one]}" 2>/dev/null || serve one
until_so 'the first gateway has all of them' has_peers one "$LOGINS"
until_so 'the second gateway has all of them' has_peers two "$LOGINS"
echo "$LOGINS devices, $at_both entries of logins, no address twice"

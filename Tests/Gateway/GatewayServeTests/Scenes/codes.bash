#!/usr/bin/env bash
# QR codes as a terminal shows them, read by zbarimg(1). No gateway runs.
#
# $TERMINAL is a terminal (terminal.py).
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

program=$ROAMWARD_BIN/roamward-gateway
gateway() { "$program" "$@" --state /run/work/state; }
# What a camera reads of a command's output, byte for byte.
scan() { # COLUMNS ARGUMENT...
  # The words of a change are above a code, on standard error.
  # shellcheck disable=SC2016 # expanded there
  python3 "$TERMINAL" shown.pgm "$1" /bin/bash -c '"$@" 2>said.log' said "$program" "${@:2}" --state /run/work/state ||
    fail "no picture: ${*:2}"
  zbarimg --quiet --nodbus --raw --oneshot -Sdisable -Sqrcode.enable shown.pgm || fail "it cannot be read: ${*:2}"
}

gateway init --endpoint vpn.example.com --pool 10.77.0.0/24 --pool fd77::/64 >/dev/null
gateway user add alice
wg genkey >key
gateway device add alice/phone --public-key "$(wg pubkey <key)" >/dev/null

# The file of a stock client is the same bytes, with its key.
gateway device show alice/phone --private-key key --file >file
[[ $(grep '^PrivateKey' file) == "PrivateKey = $(<key)" ]] || fail "the file has another key: $(<file)"
scan 80 device show alice/phone --private-key key --qr --file >read.out
cmp read.out file || fail "the code has another text: $(<read.out)"

# So is the file of a device that is just added: the code alone has its key.
scan 80 device add alice/tablet --qr >read.out
public=$(sed -n 's/^PrivateKey = //p' read.out | wg pubkey) || fail "no key: $(<read.out)"
sed -n 's/^PrivateKey = //p' read.out >tablet
gateway device show alice/tablet --private-key tablet --file >file || fail "another key: $public"
cmp read.out file || fail "the code has another text: $(<read.out)"

# A long file has a large code, up to the largest one there is (2953 bytes); a longer file is refused, and nothing is shown.
routes() { for ((i = 0; i < $1; i++)); do printf '10.%s.0.0/16 ' "$i"; done; }
# shellcheck disable=SC2046 # words
gateway set settings.everybody.routes $(routes 180)
gateway set settings.everybody.search corp.example
gateway device show alice/phone --private-key key --file >file
(($(stat -c %s file) > 2500)) || fail "the file has $(stat -c %s file) bytes"
scan 200 device show alice/phone --private-key key --qr --file >read.out
cmp read.out file || fail "the code has another text: $(<read.out)"
# shellcheck disable=SC2046 # words
gateway set settings.everybody.routes $(routes 256)
! gateway device show alice/phone --private-key key --qr --file >shown 2>refused || fail 'a code of what fits into none'
grep -q 'too long for a QR code' refused || fail "a refusal without a reason: $(<refused)"
[[ ! -s shown ]] || fail 'something is shown of a code that is none'

# The link for a laptop, with the pin in the letters of a URL.
! gateway login show --link 2>refused || fail 'a link without a pin'
grep -q 'set logins on' refused || fail "a refusal without a cure: $(<refused)"
pin=$(gateway set logins on 2>/dev/null | grep -o 'sha256//.*')
letters=$(sed 's|^sha256//||; s|=$||; y|+/|-_|' <<<"$pin")
gateway login show --link --user alice >link.out
[[ $(<link.out) == "roamward://vpn.example.com/?user=alice&pin=$letters" ]] || fail "the link: $(<link.out)"
gateway login show --link --user alice --qr >both
cmp link.out <(head -n 1 both) || fail "the code's link is another one: $(head -n 1 both)"
(($(wc -l <both) > 15)) || fail 'there is no code'

# The secret of one-time codes.
gateway user set alice --password <<<'correct horse'
scan 80 user set alice --totp --qr >read.out
[[ $(<read.out) == 'otpauth://totp/roamward:alice?secret='*'&issuer=roamward' ]] || fail "the secret: $(<read.out)"

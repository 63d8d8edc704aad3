# shellcheck shell=bash disable=SC2154,SC2034

open_beacon() {
  local folder=$scene/$1
  mkdir "$folder"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$folder/key" -out "$folder/cert" -days 2 -subj /CN=beacon 2>/dev/null
  on "$2" openssl s_server -quiet -www -accept 443 -key "$folder/key" -cert "$folder/cert" </dev/null >"$folder/log" 2>&1 &
  within 5 on "$2" sh -c "ss -Hltn 'sport = :443' | grep -q ."
  pin=sha256//$(openssl x509 -in "$folder/cert" -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64)
}
know_beacon() {
  local place=$1 address=$2 server
  server=$(on "$place" ss -Hlunp 'sport = :53' | grep -o 'pid=[0-9]*' | head -n 1)
  kill "${server#pid=}" && within 2 not kill -0 "${server#pid=}"
  on "$place" dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --interface=lan0 --pid-file=     --host-record="beacon.corp.example,$address" --server=203.0.113.53 --log-queries --log-facility="$scene/dns-$place.log"
}

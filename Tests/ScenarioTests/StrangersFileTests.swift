import Glibc
import Testing

/// OpenVPN files of a stranger that try to run, load, read or write something, under strace(1): what openvpn(8) is given does none of it.
@Suite(
  "A stranger's OpenVPN file", .needsLab,
  .enabled(if: access("/usr/sbin/openvpn", X_OK) == 0, "openvpn is not installed (scripts/setup --vm)"),
  .enabled(if: access("/usr/bin/strace", X_OK) == 0, "strace is not installed (scripts/setup --vm)"))
struct StrangersFileTests {
  /// Options that reach into this machine; `$S` is a folder of the stranger's, in which a library, a program and secrets lie.
  static let lines = [
    "plugin $S/evil.so", "setenv opt plugin $S/evil.so", "script-security 2\nup \"/bin/sh $S/run\"", "--up $S/run", "\"up\" $S/run",
    "'up' \"$S/run\"", "u\\\\p $S/run", "tls-verify $S/run", "ipchange $S/run", "iproute $S/run", "route-up $S/run", "config $S/secret",
    "setenv opt config $S/secret", "socks-proxy 203.0.113.66 1080 $S/secret", "http-proxy 203.0.113.66 8080 $S/secret basic",
    "http-proxy-user-pass $S/secret", "auth-user-pass $S/secret", "askpass $S/secret", "ca $S/secret", "capath $S", "crl-verify $S dir",
    "tls-crypt-v2 $S/secret", "log $S/new", "log-append $S/new", "status $S/new", "writepid $S/new", "cd $S", "chroot $S", "tmp-dir $S",
    "engine $S/evil.so", "providers $S/evil.so", "pkcs11-providers $S/evil.so", "management $S/new unix", "replay-persist $S/new",
    "tls-export-cert $S", "dns-updown $S/run", "peer-fingerprint $S/secret", "setcon $S", "client-config-dir $S", "daemon x\nlog $S/new",
  ]

  /// Places at which a line may stand, around it: each part of `@` is the line.
  static let positions = [
    "@", "  @", "\u{b}@", "\u{feff}@", "@\r", "@ # x", "<ca>\nAAAA\n</ca>.\n@\n<ca>\nAAAA\n</ca>",
    "<ca>\nAAAA\n </ca>x\n@\n<ca>\nAAAA\n</ca>",
    "<ca>\nAAAA\n</ca>\u{0}\n@\n<ca>\nAAAA\n</ca>", "<ca>\nAAAA\n</ca> @\n@\n<ca>\n</ca>", "<ca>\n@\n</ca>",
    "<cert>\n</cert>>\n@\n<cert>\nAAAA\n</cert>",
    "<ca>\nAAAA\r</ca>\n@\n</ca>", "--<ca>\nAAAA\n</ca>\n@", "<ca> # x\nAAAA\n@\n</ca>",
    "<connection>\nremote 127.0.0.1 1\n@\n</connection>",
    "<connection>\nremote 127.0.0.1 1\n</connection>x\n@\n<connection>\nremote 127.0.0.1 1\n</connection>",
    "<connection>\nremote 127.0.0.1 1\n<tls-auth>\nAAAA\n</tls-auth>.\n@\n<tls-auth>\nAAAA\n</tls-auth>\n</connection>",
    "<connection>\nremote 127.0.0.1 1\n<connection>\n@\n</connection>", "<up>\n@\n</up>", "\u{0}\n@", "@\u{0}", "x\u{0}\n@",
    String(repeating: "#", count: 255) + "@", String(repeating: " ", count: 254) + "@", "verb 1 \\\n@", "verb \"1\n@\n\"",
    "ignore-unknown-option x @\n@", "setenv-safe x \"\n@\n\"",
  ]

  private let words = """
    S=$scene/strangers
    mkdir "$S" && chmod 755 "$S"
    printf 'first-line-secret\\nsecond-line-secret\\n' >"$S/secret"
    printf '#!/bin/sh\\ntouch %s/ran\\n' "$S" >"$S/run"
    cp "$(ldconfig -p | awk '/libz\\.so\\.1 / { print $NF; exit }' || true)" "$S/evil.so" 2>/dev/null || cp /bin/true "$S/evil.so"
    chmod 755 "$S"/*
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.pem -subj /CN=ca -days 2 2>/dev/null
    # What a stranger's own file would have besides.
    good() {
      printf 'client\\ndev tun\\nproto udp\\nremote 127.0.0.1 1\\nnobind\\n'
      for part in ca:ca.pem cert:ca.pem key:ca.key; do printf '<%s>\\n%s\\n</%s>\\n' "${part%%:*}" "$(<"${part#*:}")" "${part%%:*}"; done
    }
    good >good
    # Calls of a run of openvpn that lasts for an attempt or two.
    watched() {
      timeout 20 strace -f -qq -o "$1" -e trace=%file,execve,execveat,connect "${@:2}" >"$1.out" 2>&1 </dev/null || true
    }

    """

  /// Writes each line in a fifth of the positions into the scene's folder `evil`, and each position with a fifth of the lines; with
  /// `OPENVPN_FUZZ` all with all. A file is that before or behind a good one.
  private func write(to scene: Scene) throws -> Int {
    let isWhole = getenv("OPENVPN_FUZZ") != nil
    var count = 0
    for (number, line) in Self.lines.enumerated() {
      for (place, position) in Self.positions.enumerated() where isWhole || (number + place) % 5 == 0 {
        let text = position.split(separator: "@", omittingEmptySubsequences: false).joined(separator: line)
        try scene.write("evil/\(count).head", text.replacing("$S", with: "\(scene.folder)/strangers") + "\n")
        count += 1
      }
    }
    return count
  }

  @Test("that is imported by an ordinary user leaves openvpn nothing to run, load, read or write") func imported() throws {
    let scene = try Scene([:])
    mkdir("\(scene.folder)/evil", 0o755)
    let count = try write(to: scene)
    let seen = try scene.run(
      words + """
        cp "$bin/roamward" . && cd evil
        user=()
        [[ $EUID != 0 ]] || { user=(setpriv --reuid 65534 --regid 65534 --clear-groups); chown 65534:65534 .; }
        imported=0
        for head in *.head; do
          name=${head%.head}
          if ((name % 2)); then cat ../good "$head" >$name.ovpn; else { cat "$head"; cat ../good; } >$name.ovpn; fi
        done
        chmod 644 ./*
        # Names of tunnels are unique in a folder: one folder for all, and one command for many files.
        ls *.ovpn | xargs -n 100 "${user[@]}" ../roamward import --output out --manual >report 2>&1 || true
        mkdir distinct
        for file in out/*.ovpn; do
          [[ -e $file ]] || continue
          imported=$((imported + 1))
          cp "$file" "distinct/$(sha256sum <"$file" | cut -c1-16)"
        done
        ((imported > \(count) / 3)) || say "only $imported of \(count) were imported"
        # The contents of a block are no options, whatever they are: the trace tells whether openvpn reads them as such.
        options() { awk '/^<.?connection>/ { next } /^<\\// { inside = 0; next } /^</ { inside = 1; next } !inside' "$@"; }
        if options distinct/* | grep -E 'strangers|secret|script-security'; then say "a path is left"; fi
        for file in distinct/*; do
          watched "$file.trace" /usr/sbin/openvpn --cd "$PWD/out" --config "$PWD/$file" --connect-retry-max 1 --server-poll-timeout 1 --dev null
          grep -H -E 'Options error|Unrecognized' "$file.trace.out" || true
          grep -H strangers "$file.trace" | head -n 2 || true
          [[ $(grep -c execve "$file.trace") == 1 ]] || say "$(grep execve "$file.trace")"
        done
        [[ ! -e $S/ran && ! -e $S/new ]] || say "ran"
        # This check sees what a file does that was not imported.
        { cat ../good; echo "plugin $S/evil.so"; } >raw
        watched raw.trace /usr/sbin/openvpn --config raw --connect-retry-max 1 --dev null
        grep -q strangers/evil.so raw.trace && say "seen"
        """, limit: 900)
    #expect(seen == "[seen]", "\(seen)")
  }

  @Test("is refused by the provider with its line, before openvpn gets any of it", .marksSockets) func provider() throws {
    let scene = try Scene([:], words: ["providers.bash"])
    mkdir("\(scene.folder)/evil", 0o755)
    // Each fourth line: at the top, behind a block that ends early, and in a connection.
    let chosen = stride(from: 0, to: Self.lines.count, by: 4).map(\.self)
    for number in chosen {
      let position = [Self.positions[0], Self.positions[6], Self.positions[15]][number / 4 % 3]
      let text = position.replacing("@", with: Self.lines[number]).replacing("$S", with: "\(scene.folder)/strangers")
      try scene.write("evil/\(number).head", text + "\n")
    }
    let seen = try scene.run(
      words + """
        install_provider openvpn
        go cafe
        (umask 077; cat good evil/0.head >"$policies/office.ovpn")
        openvpn_policy </dev/null
        roamward check "$policies" | tail -n 1
        strace -f -qq -o agent.trace -e trace=execve,execveat,open,openat,openat2,creat $bin/roamwardd --policies $policies --state-dir state \\
          --socket $ROAMWARD_SOCKET "${inputs[@]}" </dev/null >agent.log 2>&1 & tracer=$!
        within 10 roamward status
        for number in \(chosen.map(String.init).joined(separator: " ")); do
          cat good evil/$number.head >"$policies/office.ovpn"
          echo "# $number" >>"$policies/office.yaml"
          kill -HUP "$(pgrep -P $tracer | head -n 1)"
          roamward up office >/dev/null 2>&1 || true
          within 20 eval '[[ $(field office failure) == *"credential \\`config\\`"* ]]' || say "$number: $(field office failure)"
          roamward down office >/dev/null
          within 10 field_is office state disconnected
        done
        kill "$(pgrep -P $tracer | head -n 1)"
        wait
        grep -E 'strangers|execve.*/sbin/openvpn"' agent.trace | head -n 3 || true
        [[ ! -e $S/ran && ! -e $S/new ]] || say "ran"
        say done
        """, limit: 300)
    #expect(seen.lines == ["1 file, 1 tunnel, 0 errors, 0 warnings", "[done]"], "\(seen)")
  }
}

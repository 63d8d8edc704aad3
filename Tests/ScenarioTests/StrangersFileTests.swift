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
    let seen = try scene.play("StrangersFile/imported", with: ["COUNT": count])
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
    let seen = try scene.play("StrangersFile/provider", with: ["CHOSEN": chosen.map(String.init).joined(separator: " ")])
    #expect(seen.lines == ["1 file, 1 tunnel, 0 errors, 0 warnings", "[done]"], "\(seen)")
  }
}

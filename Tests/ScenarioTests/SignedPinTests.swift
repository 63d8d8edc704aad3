import Glibc
import Testing

@Suite("A gateway's pin in DNS", .needsLab, .marksSockets)
struct SignedPinTests {
  @Test(
    "`roamward login` takes a pin of a TLSA record that unbound has validated here; no other answer spares a person the comparison",
    .enabled(
      if: ["sbin/unbound", "bin/ldns-signzone", "bin/ldns-keygen", "bin/dig", "bin/openssl"].allSatisfy { access("/usr/\($0)", X_OK) == 0 },
      "needs unbound, ldnsutils, dig and openssl (scripts/setup --vm)"))
  func signedPin() throws {
    let scene = try Scene([:], words: ["providers.bash", "client.bash"])
    try scene.play("GatewayClient/set-up")
    let seen = try scene.play("GatewayClient/signed-pin")
    let record = "_51821._tcp.vpn.corp.example"
    let unconfirmed = ["roamward: the pin of vpn.corp.example:51821 has to be confirmed, and there is no terminal", "help"]
    let unknown = "note: whether DNS has the TLSA record \(record) is not known: the name server 127.0.0.1"
    let ignored = "note: DNS has the TLSA record \(record), which does not count:"
    let shown = "vpn.corp.example:51821 shows the pin that its signed TLSA record in DNS has"
    let parts: [[String]] = [
      ["there are no logins", "the endpoint 203.0.113.10:51822 has no name"],
      [
        "-- validated, and another pin", "[1]", "roamward: vpn.corp.example:51821 shows the pin", "  PIN",
        "and the signed TLSA record \(record) in DNS has", "  OTHER", "so this may be another server; nothing was changed", "help",
        "[1, 0 questions]",
      ],
      ["-- a wrong signature", "[1]", "\(unknown) reports a failure (SERVFAIL), as it does if a signature is wrong"] + unconfirmed,
      ["-- another kind", "[1]", "note: the TLSA record \(record) does not count: it is not of the kind 3 1 1"] + unconfirmed,
      ["-- no record", "[1]"] + unconfirmed,
      ["-- not validated", "[1]", "\(ignored) it is not signed, or the name server 127.0.0.1 does not validate"] + unconfirmed,
      ["-- no name server", "[1]", "\(unknown) takes no connection by TCP: Connection refused"] + unconfirmed,
      [
        "-- a name server that does not answer", "[Uid:USER CapEff:0000000000000000 NoNewPrivs:1]", "[1]", "\(unknown) does not answer",
      ] + unconfirmed,
      [
        "-- a liar on the network", "[1]",
        "\(ignored) the name server 203.0.113.10 is not on this machine, and /etc/resolv.conf does not say `options trust-ad`",
      ] + unconfirmed + ["[1, 1 note]", "[0]", shown],
      [
        "-- behind our own name server", "[1]",
        "\(ignored) the name server 127.82.0.53 is roamward-names, which passes answers on and validates none",
      ] + unconfirmed + ["[0 files]"],
      ["-- validated, and one of several", shown, "corp: connected", "1"],
      [
        "-- another pin than the policy, and than the one that is given",
        "note: the pin of the policy stays, though the signed TLSA record \(record) in DNS has another one; if the gateway has a new key: "
          + "`roamward login vpn.corp.example:51821 --pin OTHER`",
        "corp: connected", "[0]",
        "note: the pin that you gave counts, though the signed TLSA record \(record) in DNS has another one: OTHER", "[0]", "[0]",
        "note: the pin that you gave counts, though the signed TLSA record \(record) in DNS has another one: OTHER", "0",
      ],
    ]
    #expect(seen.lines == parts.flatMap(\.self), "\(seen)")
  }
}

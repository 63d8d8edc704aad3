import Glibc
import Testing

@Suite(
  "The OpenConnect provider", .needsLab,
  .enabled(
    if: ["openconnect", "ocserv"].allSatisfy { access("/usr/sbin/\($0)", X_OK) == 0 },
    "openconnect and ocserv are not installed (scripts/setup --vm)"), .marksSockets)
struct OpenConnectProviderScenes {
  private func scene() throws -> Scene {
    let scene = try Scene([:], words: ["providers.bash", "openconnect.bash"])
    try scene.play("OpenConnect/set-up")
    return scene
  }

  @Test("signs in, connects without privileges, takes what the server sends, survives roams and kills, and leaves nothing")
  func life() throws {
    let seen = try scene().play("OpenConnect/life")
    #expect(
      seen.lines == [
        "[dev office, dev wlan0]", "to 10.97.0.1 of office",
        "[Uid:1909024657 CapPrm:0000000000000000 CapEff:0000000000000000 NoNewPrivs:1]",
        "[no secret in an argument]", "[no file of a secret]", "[left: 0]", "0",
      ])
  }

  @Test("a password is asked where none is named, a wrong one needs a person, and so do a certificate and a group that nothing names")
  func refusals() throws {
    let seen = try scene().play("OpenConnect/refusals")
    #expect(
      seen.lines == [
        "asks:    Please enter your password. Password (office); `roamward answer office`", "Please enter your password. Password (office)",
        "roamward: office: the server refused the user name or the password; correct it; `roamward answer office` tries again (auth-failed)",
        "[wrong 1]",
        "office: the server refused the user name or the password; correct it; `roamward answer office` tries again (auth-failed)",
        "Please enter your password. Password (office)", "office: connected", "[not in the log]",
        "office: no authority vouches for the server; if its certificate is PIN, add `server-certificate: PIN`; `roamward answer office` tries again (certificate-unknown)",
        "office: the server's certificate is none that `server-certificate` names; `roamward answer office` tries again (certificate-mismatch)",
        "0",
      ])
  }

  @Test("a full tunnel with a kill switch: nothing of others leaves, whatever the server or its processes do")
  func killSwitch() throws {
    let seen = try scene().play("OpenConnect/kill-switch")
    #expect(seen.lines == ["[detected]", "[dev office]", "[0 outside]", "0"])
  }
}

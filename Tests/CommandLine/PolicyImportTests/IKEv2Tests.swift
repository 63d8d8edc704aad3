import PolicyFiles
import PolicySource
import RoamwardCore
import Testing

@testable import PolicyImport

/// IKEv2 of a profile, where the provider of strongSwan is installed.
@Suite struct IKEv2Tests {
  private func imported(_ keys: KeyValuePairs<String, P>, _ more: [P] = []) throws -> (result: ImportResult, policy: String) {
    var options = ImportOptions()
    options.strongSwan = try installed("strongswan")
    let demand = on([["Action": "Connect"]]).with(keys)
    let isAddressed = keys.contains { $0.key == "RemoteAddress" }
    let vpn = isAddressed ? demand : demand.with(["RemoteAddress": "vpn.office.example"])
    let result = try importing(profile(payloads: more + [vpnPayload(vpn, type: "IKEv2")]), options)
    let policy = try #require(result.files.last { $0.name.hasSuffix(".yaml") }, "\(result.report.text)")
    return (result, String(decoding: policy.bytes, as: UTF8.self))
  }

  private let authority: P = [
    "PayloadType": "com.apple.security.root", "PayloadContent": .value(Property(.data([0x30, 0x01, 0x02]))),
  ]
  private let identity: P = [
    "PayloadType": "com.apple.security.pkcs12", "PayloadUUID": "AAAA", "Password": "not-a-real-secret-7",
    "PayloadContent": .value(Property(.data([1, 2, 3]))),
  ]

  @Test("a shared key becomes a credential, and the tunnel is complete") func sharedKey() throws {
    let (result, policy) = try imported([
      "AuthenticationMethod": "SharedSecret", "SharedSecret": "not-a-real-secret-1", "LocalIdentifier": "laptop.office.example",
      "RemoteIdentifier": "gateway.office.example",
    ])
    #expect(
      policy.contains("options: { server: vpn.office.example, local-id: laptop.office.example, remote-id: gateway.office.example }\n"),
      "\(policy)")
    #expect(policy.contains("credentials: { psk: corp.psk }\n") && !policy.contains("enabled: false"))
    #expect(result.files.contains { $0.name == "corp.psk" && $0.isSecret && $0.bytes == Array("not-a-real-secret-1".utf8) })
    #expect(!result.shownText.contains("not-a-real-secret") && result.tunnels.allSatisfy { $0.isEnabled })
  }

  @Test("a user name is an option, its password a credential or asked for, and somebody vouches for the server") func user() throws {
    let login: KeyValuePairs<String, P> = [
      "AuthenticationMethod": "None", "ExtendedAuthEnabled": 1, "AuthName": "alice", "AuthPassword": "not-a-real-secret-2",
    ]
    let (result, policy) = try imported(login)
    #expect(policy.contains("options: { server: vpn.office.example, username: alice, authorities: system }\n"), "\(policy)")
    #expect(policy.contains("credentials: { password: corp.password }\n") && result.tunnels.allSatisfy { $0.isEnabled })
    let (own, known) = try imported(login, [authority])
    #expect(known.contains("credentials: { ca: corp.ca.pem, password: corp.password }\n") && !known.contains("authorities"), "\(known)")
    #expect(
      own.files.contains {
        $0.name == "corp.ca.pem" && $0.isSecret
          && $0.bytes == Array("-----BEGIN CERTIFICATE-----\nMAEC\n-----END CERTIFICATE-----\n".utf8)
      })
    let (asked, open) = try imported(["ExtendedAuthEnabled": true, "AuthName": "alice"])
    #expect(asked.says(.plain, "a person is asked for the password of alice") && !open.contains("credentials") && open.contains("alice"))
    let isOn = asked.tunnels.allSatisfy { $0.isEnabled }
    #expect(isOn)
  }

  @Test("an identity of the profile becomes two credentials") func certificate() throws {
    for keys in [["PayloadCertificateUUID": "AAAA"], ["AuthenticationMethod": "Certificate"]] as [KeyValuePairs<String, P>] {
      let (result, policy) = try imported(keys, [identity, authority])
      #expect(
        policy.contains(
          "credentials: { ca: corp.ca.pem, identity: corp.identity-1.p12, identity-password: corp.identity-1.password }\n"), "\(policy)")
      #expect(result.tunnels.allSatisfy { $0.isEnabled } && !result.shownText.contains("not-a-real-secret"))
    }
  }

  @Test(
    "what is missing, or what the provider does not do, turns the tunnel off, and the policy still loads",
    arguments: [
      ([:], "does not say how to sign in"), (["ExtendedAuthEnabled": 1], "no user name (AuthName)"),
      (["AuthenticationMethod": "Certificate"], "does not hold the identity (PKCS#12)"),
      (["AuthenticationMethod": "Certificate", "ExtendedAuthEnabled": 1], "EAP-TLS"),
      (["AuthenticationMethod": "SharedSecret", "ExtendedAuthEnabled": 1, "SharedSecret": "x"], "a shared key and a user name, both"),
      (["RemoteAddress": "", "SharedSecret": "x"], "names no server"),
    ] as [(KeyValuePairs<String, P>, String)])
  func obstacles(keys: KeyValuePairs<String, P>, reason: String) throws {
    let (result, policy) = try imported(keys)
    #expect(result.says(.warning, reason) && policy.contains("enabled: false"), "\(result.report.text)")
  }

  @Test("algorithms become proposals, with Apple's defaults for those that are not named") func algorithms() throws {
    let (_, policy) = try imported([
      "SharedSecret": "x", "EnablePFS": true,
      "IKESecurityAssociationParameters": [
        "EncryptionAlgorithm": "AES-256-GCM", "IntegrityAlgorithm": "SHA2-384", "DiffieHellmanGroup": 20,
      ],
      "ChildSecurityAssociationParameters": ["EncryptionAlgorithm": "AES-128", "LifeTimeInMinutes": 60],
    ])
    #expect(policy.contains("proposals: [aes256gcm16-prfsha384-ecp384]"), "\(policy)")
    #expect(policy.contains("esp-proposals: [aes128-sha256-modp2048]"), "\(policy)")
    let (odd, own) = try imported(["SharedSecret": "x", "IKESecurityAssociationParameters": ["EncryptionAlgorithm": "DES"]])
    #expect(odd.says(.warning, "its own choice is used") && !own.contains("proposals"))
    for isChild in [true, false] {
      for cipher in ["3DES", "AES-128", "AES-256", "AES-128-GCM", "AES-256-GCM", "ChaCha20Poly1305"] {
        for hash in ["SHA1-96", "SHA1-160", "SHA2-256", "SHA2-384", "SHA2-512"] {
          let algorithms = IKEv2Algorithms(encryption: cipher, integrity: hash, group: 31)
          #expect(algorithms.proposal(isChild: isChild, hasGroup: true)?.hasSuffix("-curve25519") == true)
        }
      }
    }
    #expect(IKEv2Algorithms().proposal(isChild: true, hasGroup: false) == "aes256-sha256")
  }

  @Test("IncludeAllNetworks is kept, because the tunnel's link is known before its start") func allNetworks() throws {
    let (result, policy) = try imported(["SharedSecret": "x", "IncludeAllNetworks": true])
    #expect(policy.contains("include-all-networks: true") && result.tunnels.allSatisfy { $0.isEnabled }, "\(policy)\n\(result.report.text)")
  }

  @Test("without the provider the tunnel is off, and the package is named") func notInstalled() throws {
    let result = try importing(profile(on([["Action": "Connect"]]).with(["RemoteAddress": "vpn.office.example"]), type: "IKEv2"))
    #expect(result.says(.warning, "the provider of IKEv2 is not installed (package roamward-strongswan)"))
    let old = try importing(profile(on([["Action": "Connect"]]), type: "IPSec"))
    #expect(old.says(.warning, "there is no provider of Cisco IPsec (IKEv1)"))
  }
}

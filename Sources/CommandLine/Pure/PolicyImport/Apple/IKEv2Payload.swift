import JSON
import NetworkTypes
import RoamwardCore

/// The installed provider of IKEv2.
let strongSwanName = "strongswan"

/// Reads IKEv2 for the installed provider: the server, both identities, the algorithms, and how this machine signs in.
func readIKEv2(_ inner: inout Fields?, _ tunnel: inout ImportedTunnel, _ manifest: ProviderManifestFile, _ report: inout ImportReport) {
  guard var fields = inner else {
    tunnel.obstacles.append("the profile holds no settings of IKEv2")
    return
  }
  var payload = IKEv2Payload()
  payload.readServer(&fields, &tunnel, &report)
  payload.readLogin(&fields, &tunnel, &report)
  payload.readAlgorithms(&fields, &report)
  dropWithoutEquivalent(&fields, &report)
  tunnel.provider = .installed(
    strongSwanName, options: JSON.object(payload.options), credentials: payload.credentials, manifest)
  report.record(
    "the installed provider runs charon of strongSwan for this tunnel alone; the server's routes and name servers are used (`allow` limits them)"
  )
  inner = fields
}

/// The contents of the payload, as options and credentials of the provider.
private struct IKEv2Payload {
  var options: [JSON.Member] = []
  var credentials: [ProviderCredential] = []

  private mutating func add(_ name: String, _ value: JSON) { options.append(JSON.Member(key: name, value: value)) }

  mutating func readServer(_ fields: inout Fields, _ tunnel: inout ImportedTunnel, _ report: inout ImportReport) {
    if let server = fields.text("RemoteAddress", &report), !server.value.isEmpty {
      add("server", .string(server.value))
      report.taken(server.place, "server")
    } else {
      // The option is required: the policy would not load without it.
      add("server", .string("vpn.invalid"))
      tunnel.obstacles.append("the profile names no server (RemoteAddress): correct `server` in the policy")
    }
    if let own = fields.text("LocalIdentifier", &report), !own.value.isEmpty {
      add("local-id", .string(own.value))
      report.taken(own.place, "local-id")
    }
    let remote = fields.text("RemoteIdentifier", &report)
    let common = fields.text("ServerCertificateCommonName", &report)
    let used = [remote, common].compactMap { $0 }.first { !$0.value.isEmpty }
    if let used { add("remote-id", .string(used.value)) }
    for name in [remote, common].compactMap({ $0 }) {
      if name.value == used?.value {
        report.taken(name.place, "remote-id")
      } else {
        report.dropped(name.place, "the server's certificate has to name its identity, `remote-id`", weight: .warning)
      }
    }
  }

  mutating func readLogin(_ fields: inout Fields, _ tunnel: inout ImportedTunnel, _ report: inout ImportReport) {
    let method = fields.text("AuthenticationMethod", &report)
    let isExtended = fields.flag("ExtendedAuthEnabled", &report)
    let user = fields.text("AuthName", &report)
    let uuid = fields.text("PayloadCertificateUUID", &report)
    let secret = takeSecret("SharedSecret", as: "psk", &fields, &tunnel, &report)
    let password = takeSecret("AuthPassword", as: "password", &fields, &tunnel, &report)
    for place in [method?.place, isExtended?.place, user?.place, uuid?.place].compactMap({ $0 }) {
      report.changed(place, "how this machine signs in")
    }
    let wantsIdentity = uuid != nil || method?.value == "Certificate"
    if isExtended?.value == true {
      tunnel.needsAuthorities = true
      guard method?.value != "SharedSecret" else {
        tunnel.obstacles.append("it signs in by a shared key and a user name, both: the provider does one of them")
        return
      }
      if let user, !user.value.isEmpty {
        add("username", .string(user.value))
        if let password { credentials.append(password) }
        if password == nil { report.record("a person is asked for the password of \(shownValue(user.value)) (roamward answer)") }
      } else if wantsIdentity {
        tunnel.obstacles.append("it signs in by EAP-TLS, which the provider does not do; ask for a login by certificate, or by user name")
      } else {
        tunnel.obstacles.append("the profile holds no user name (AuthName): add `username` to the options in the policy")
      }
    } else if wantsIdentity {
      tunnel.needsAuthorities = true
      tunnel.identity = uuid.map { .named($0.value) } ?? .any
    } else if let secret {
      credentials.append(secret)
    } else {
      tunnel.obstacles.append(
        "the profile does not say how to sign in: add the credential `psk`, `identity`, or the option `username` in the policy")
    }
  }

  /// A secret, in a file of its own; `nil`: the profile does not hold it.
  private func takeSecret(
    _ key: String, as name: String, _ fields: inout Fields, _ tunnel: inout ImportedTunnel, _ report: inout ImportReport
  ) -> ProviderCredential? {
    guard let item = fields.take(key) else { return nil }
    let bytes: [UInt8]? =
      switch item.property.content {
      case .string(let text): Array(text.utf8)
      case .data(let data): data
      default: nil
      }
    guard let bytes else {
      report.dropped(item.place, "neither a text nor data")
      return nil
    }
    let file = tunnel.addSecret(name, bytes)
    report.changed(item.place, "a secret: written to \(file), for root alone")
    return ProviderCredential(name: name, path: file)
  }

  mutating func readAlgorithms(_ fields: inout Fields, _ report: inout ImportReport) {
    let isForward = fields.flag("EnablePFS", &report)
    if let isForward { report.changed(isForward.place, "the group of esp-proposals") }
    for isChild in [false, true] {
      let key = isChild ? "ChildSecurityAssociationParameters" : "IKESecurityAssociationParameters"
      guard let item = fields.take(key), var parameters = Fields(item, &report) else { continue }
      let algorithms = IKEv2Algorithms(&parameters, &report)
      parameters.drop(["LifeTimeInMinutes"], reason: "charon renews keys by itself", &report)
      parameters.finish(&report)
      if let proposal = algorithms.proposal(isChild: isChild, hasGroup: !isChild || isForward?.value == true) {
        add(isChild ? "esp-proposals" : "proposals", [.string(proposal)])
      } else {
        report.record("\(key) names an algorithm that strongSwan does not have, so its own choice is used", weight: .warning)
      }
    }
  }
}

/// Leaves out the keys that the provider has no option for; what may matter, as a warning.
private func dropWithoutEquivalent(_ fields: inout Fields, _ report: inout ImportReport) {
  fields.drop(
    ["DeadPeerDetectionRate", "NATKeepAliveInterval", "NATKeepAliveOffloadEnable"], reason: "the provider asks a silent server every 10 s",
    &report)
  fields.drop(["DisableMOBIKE"], reason: "a roam always keeps the tunnel, where the server allows it", &report)
  fields.drop(["EnableFallback"], reason: "a second way through the mobile network is a device's of Apple", &report)
  fields.drop(["LocalIdentifierType", "CertificateType"], reason: "follows from the value", &report)
  fields.drop(["TLSMinimumVersion", "TLSMaximumVersion"], reason: "of EAP-TLS, which is not used", &report)
  fields.drop(["UseConfigurationAttributeInternalIPSubnet"], reason: "routes are what the server allows", &report)
  fields.drop(["PromptForVPNPIN", "XAuthEnabled", "XAuthName"], reason: "of Cisco IPsec, without effect here", &report)
  fields.drop(["DisableRedirect"], reason: "a server may name another one, and charon goes there", weight: .warning, &report)
  fields.drop(
    ["EnableCertificateRevocationCheck"], reason: "the server's certificate is not checked for revocation", weight: .warning, &report)
  fields.drop(
    ["ServerCertificateIssuerCommonName"], reason: "an authority is named by its certificate (`ca`), not by its name", weight: .warning,
    &report)
  fields.drop(["PostQuantumKeyExchangeMethods"], reason: "this strongSwan has no such key exchange", weight: .warning, &report)
}

extension ImportedTunnel {
  /// Names the identity and its password as credentials.
  mutating func useIKEv2Identity(_ identity: ProfileIdentity?) {
    addCredential("identity", file: identity?.file, missing: "the identity (PKCS#12) that it names")
    guard let identity else { return }
    addCredential("identity-password", file: identity.passwordFile, missing: "the password of \(identity.file)")
  }

  /// Names the profile's authorities as a credential, or else those of the machine.
  mutating func trust(_ authorities: [[UInt8]], _ report: inout ImportReport) {
    if authorities.isEmpty, case .installed(var configuration, let manifest) = provider {
      configuration.options = JSON.object((configuration.options.members ?? []) + [JSON.Member(key: "authorities", value: "system")])
      provider = .installed(configuration, manifest)
      report.record("the profile holds no authority for the server: those of this machine vouch for it (`authorities: system`)")
    } else {
      let file = addFile("\(name).ca.pem", pemFile(ofCertificates: authorities), isSecret: true)
      addCredential("ca", file: file, missing: "")
      report.record("\(file) holds the authorities that vouch for the server")
    }
  }
}

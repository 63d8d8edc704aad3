internal import PolicyFiles
internal import RoamwardCore

/// Reads an Apple configuration profile or a declaration of OS 27. Each VPN and DNS payload becomes a tunnel, in their order.
package func importProfile(_ bytes: [UInt8], file: String, options: ImportOptions) throws(ImportFailure) -> ImportResult {
  var result = ImportResult(report: ImportReport(file: file))
  var contents = bytes
  if isSignedMessage(bytes) {
    let (inner, signature) = try unwrapSignedProfile(bytes, verify: options.verify, trusted: options.trusted)
    result.report.signature = signature
    guard !signature.isRefuted else {
      result.report.record("nothing is imported: \(signature.text)", weight: .error)
      return result
    }
    contents = inner
  } else if options.verify {
    result.report.record("nothing is imported: the file is not signed, and a good signature was asked for", weight: .error)
    return result
  }
  let (root, warnings) = try readPropertyList(contents)
  for warning in warnings { result.report.record(warning, weight: .warning) }
  var importer = ProfileImporter(result: result, options: options)
  importer.read(root)
  return importer.result
}

struct ProfileImporter {
  var result: ImportResult
  let options: ImportOptions
  private var usedNames: Set<String> = []
  /// Identities and authorities in the profile; they become files of the first tunnel.
  private var certificates: [OutputFile] = []
  private var identities: [ProfileIdentity] = []
  /// Certificates of authorities, and those that may be of some.
  private var authorities = ProfileAuthorities()

  init(result: ImportResult, options: ImportOptions) {
    self.result = result
    self.options = options
  }

  mutating func read(_ root: Property) {
    let item = Item(property: root, place: KeyPath(text: "", line: root.line))
    guard var fields = Fields(item, &result.report) else { return }
    if let type = root["Type"]?.text, root["Payload"] != nil { return readDeclaration(type, &fields) }
    if fields.has("EncryptedPayloadContent") {
      fields.drop(
        ["EncryptedPayloadContent"], reason: "the payloads are encrypted for a device; ask its issuer for an unencrypted profile",
        weight: .error, &result.report)
      return fields.finish(&result.report, reason: "nothing can be done without the payloads", weight: .plain)
    }
    let title = fields.has("PayloadContent") ? root["PayloadDisplayName"]?.text : nil
    guard let content = fields.take("PayloadContent") else {
      // A single payload, or only rules, as in some repositories.
      return readPayload(item, title: nil)
    }
    let type = root["PayloadType"]?.text
    if type != "Configuration" {
      result.report.record("the profile's PayloadType is not `Configuration`", weight: .warning)
    }
    for key in profileRuleKeys where fields.has(key) {
      fields.drop(
        [key],
        reason: "at the root of a profile it has no effect on Apple's systems, so it was not applied; it belongs into the VPN payload",
        weight: .warning, &result.report)
    }
    fields.drop(descriptiveKeys, reason: "describes the profile, not a tunnel", &result.report)
    fields.finish(&result.report, reason: "not a key that has to do with tunnels", weight: .plain)
    // Some generators write one payload without the list around it.
    let payloads = content.items ?? [content]
    collectCertificates(payloads)
    let tunnels = payloads.filter { isTunnelPayload($0) }
    if tunnels.count > 1 {
      result.report.record(
        "the profile holds \(tunnels.count) payloads that become tunnels; each has its own policy, in their order", weight: .warning)
    }
    for payload in payloads { readPayload(payload, title: title) }
    if tunnels.isEmpty { result.report.record("the profile holds nothing that becomes a tunnel", weight: .error) }
  }

  private func isTunnelPayload(_ item: Item) -> Bool {
    guard let type = item.property["PayloadType"]?.text else { return false }
    return ["com.apple.vpn.managed", perAppType, "com.apple.dnsSettings.managed", options.acceptedPayloadType].contains(type)
  }

  private mutating func readPayload(_ item: Item, title: String?) {
    guard var fields = Fields(item, &result.report) else { return }
    let type = item.property["PayloadType"]?.text
    if fields.has("EncryptedPayloadContent") {
      return result.report.dropped(item.place, "the payload is encrypted for a device", weight: .error)
    }
    switch type {
    case "com.apple.dnsSettings.managed":
      let tunnel = begin(&fields, title: title, fallback: "dns")
      finish(readDNSSettings(&fields, tunnel: tunnel, options: options, &result.report), &fields)
    case perAppType: readVPN(&fields, title: title, isPerApp: true)
    case "com.apple.vpn.managed", nil:
      guard type != nil || fields.has("VPNType") || fields.has("OnDemandRules") else {
        return result.report.dropped(item.place, "this is no VPN payload: it has neither a PayloadType nor a VPNType", weight: .error)
      }
      if type == nil { result.report.record("there is no PayloadType; read as a VPN payload", weight: .warning, line: item.place.line) }
      readVPN(&fields, title: title)
    case let type? where type == options.acceptedPayloadType:
      result.report.record("PayloadType `\(shownValue(type))` is read as a VPN payload, as asked", weight: .warning, line: item.place.line)
      readVPN(&fields, title: title)
    case let type?:
      if type.hasPrefix("com.apple.security.") { return }
      let looksLikeVPN = fields.has("VPNType")
      fields.finish(
        &result.report,
        reason: looksLikeVPN
          ? "its payload has the PayloadType `\(shownValue(type))`, which Apple's systems do not know (--accept-payload-type reads it as a VPN payload)"
          : "its payload, of type `\(shownValue(type))`, has nothing to do with tunnels",
        weight: looksLikeVPN ? .warning : .plain)
    }
  }

  private mutating func readVPN(_ fields: inout Fields, title: String?, isPerApp: Bool = false) {
    var tunnel = begin(&fields, title: title, fallback: "vpn")
    if isPerApp {
      tunnel.audience = .programs(ofFile: "some apps and sites alone (\(perAppType))")
      let reason =
        options.apps.isEmpty
        ? "says which sites and services use the tunnel" : "the tunnel takes all packets of the programs that --app names"
      fields.drop(perAppKeys, reason: reason, weight: options.apps.isEmpty ? .warning : .plain, &result.report)
    }
    finish(readVPNPayload(&fields, tunnel: tunnel, options: options, &result.report), &fields)
  }

  private mutating func readDeclaration(_ type: String, _ fields: inout Fields) {
    guard type.hasPrefix("com.apple.configuration.network.vpn."), let payload = fields.take("Payload"),
      var inner = Fields(payload, &result.report)
    else {
      return fields.finish(&result.report, reason: "a declaration of type `\(shownValue(type))` makes no tunnel", weight: .error)
    }
    fields.drop(["Type", "Identifier", "ServerToken"], reason: "describes the declaration, not a tunnel", &result.report)
    fields.finish(&result.report)
    var tunnel = begin(&inner, title: nil, fallback: "vpn")
    tunnel = readVPNDeclaration(&inner, tunnel: tunnel, options: options, &result.report)
    finish(tunnel, &inner)
  }

  /// A new tunnel with its name and description, from the payload's own values.
  private mutating func begin(_ fields: inout Fields, title: String?, fallback: String) -> ImportedTunnel {
    let userName = fields.text("UserDefinedName", &result.report) ?? fields.text("DisplayName", &result.report)
    let display = fields.text("PayloadDisplayName", &result.report)
    let source = [userName?.value, display?.value, title].compactMap { $0 }.first { tunnelName(from: $0) != nil }
    var name =
      (usedNames.isEmpty ? options.name : nil) ?? source.flatMap(tunnelName) ?? tunnelName(from: baseName(of: result.report.file))
      ?? fallback
    var number = 2
    let first = name
    while !usedNames.insert(name).inserted {
      name = "\(first)-\(number)"
      number += 1
    }
    var tunnel = ImportedTunnel(name: name, avoiding: options.taken)
    tunnel.about = userName?.value ?? display?.value
    for place in [userName?.place, display?.place].compactMap({ $0 }) { result.report.changed(place, "tunnel `\(name)`") }
    fields.drop(descriptiveKeys, reason: "describes the payload, not the tunnel", &result.report)
    return tunnel
  }

  private mutating func finish(_ tunnel: ImportedTunnel, _ fields: inout Fields) {
    fields.finish(&result.report)
    var tunnel = tunnel
    tunnel.dropServersOfAlways()
    for file in certificates {
      let name = tunnel.addFile("\(tunnel.name).\(file.name)", file.bytes, isSecret: file.isSecret)
      for i in identities.indices {
        if identities[i].file == file.name { identities[i].file = name }
        if identities[i].passwordFile == file.name { identities[i].passwordFile = name }
      }
    }
    certificates = []
    if let choice = tunnel.identity {
      let identity =
        switch choice {
        case .named(let uuid): identities.first { $0.uuid == uuid }
        case .any: identities.count == 1 ? identities[0] : nil
        }
      tunnel.use(identity, &result.report)
    }
    if tunnel.needsAuthorities { tunnel.trust(authorities.chosen, &result.report) }
    result.add(tunnel, source: result.report.file, apps: options.apps)
  }
}

extension ProfileImporter {
  /// Collects certificates for the provider of the tunnel. Identities and their passwords are secrets.
  private mutating func collectCertificates(_ payloads: [Item]) {
    for payload in payloads {
      guard let type = payload.property["PayloadType"]?.text, type.hasPrefix("com.apple.security."),
        var fields = Fields(payload, &result.report)
      else { continue }
      let isIdentity = type == "com.apple.security.pkcs12"
      let number = certificates.count + 1
      var identity = ProfileIdentity(uuid: payload.property["PayloadUUID"]?.text, file: "identity-\(number).p12")
      if let content = fields.take("PayloadContent") {
        if case .data(let bytes) = content.property.content {
          let file = OutputFile(
            name: isIdentity ? "identity-\(number).p12" : "certificate-\(number).crt", bytes: bytes, isSecret: isIdentity)
          certificates.append(file)
          if isIdentity {
            identity.contents = bytes
            identities.append(identity)
          } else if type == "com.apple.security.root" {
            authorities.roots.append(bytes)
          } else {
            authorities.others.append(bytes)
          }
          result.report.changed(content.place, "written to a file beside the policy (\(file.name)\(isIdentity ? ", for root alone" : ""))")
        } else {
          result.report.dropped(content.place, "not a certificate that can be kept in a file", weight: .warning)
        }
      }
      if let password = fields.take("Password") {
        if let text = password.text {
          identity.passwordFile = "identity-\(number).password"
          certificates.append(OutputFile(name: "identity-\(number).password", bytes: Array(text.utf8), isSecret: true))
          if identities.last?.file == identity.file { identities[identities.count - 1] = identity }
          result.report.changed(password.place, "a secret: written to a file for root alone, beside the policy")
        } else {
          result.report.dropped(password.place, "expected a text", weight: .warning)
        }
      }
      fields.finish(&result.report, reason: "describes the certificate", weight: .plain)
    }
  }
}

/// The certificates of a profile that may vouch for a server.
struct ProfileAuthorities {
  /// Of `com.apple.security.root`.
  var roots: [[UInt8]] = []
  /// Of types that do not say whether the certificate is an authority's.
  var others: [[UInt8]] = []

  var chosen: [[UInt8]] { roots.isEmpty ? others : roots }
}

extension ImportedTunnel {
  /// Gives the provider the identity. `nil`: the profile does not hold the one that it names.
  fileprivate mutating func use(_ identity: ProfileIdentity?, _ report: inout ImportReport) {
    if case .installed(let configuration, _) = provider, configuration.program.name == strongSwanName {
      useIKEv2Identity(identity)
    } else {
      useOpenVPNIdentity(identity, &report)
    }
  }
}

/// Apple's payload of a VPN for some applications only.
private let perAppType = "com.apple.vpn.managed.applayer"

private let perAppKeys = [
  "VPNUUID", "CellularSliceUUID", "SafariDomains", "MailDomains", "CalendarDomains", "ContactsDomains", "AssociatedDomains",
  "ExcludedDomains", "SMBDomains",
]

/// Keys of rules and switches that belong into a payload.
private let profileRuleKeys = [
  "OnDemandEnabled", "OnDemandRules", "DisconnectOnIdle", "DisconnectOnIdleTimer", "OnDemandMatchDomainsAlways",
  "OnDemandMatchDomainsOnRetry", "OnDemandMatchDomainsNever",
]

private let descriptiveKeys = [
  "PayloadType", "PayloadVersion", "PayloadIdentifier", "PayloadUUID", "PayloadDisplayName", "PayloadDescription", "PayloadOrganization",
  "PayloadEnabled", "PayloadScope", "PayloadRemovalDisallowed", "PayloadExpirationDate", "ConsentText", "RemovalDate",
  "DurationUntilRemoval",
  "TargetDeviceType", "HasRemovalPasscode",
]

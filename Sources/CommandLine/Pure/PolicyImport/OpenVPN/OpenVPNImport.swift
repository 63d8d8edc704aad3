import OpenVPNLanguage

/// Reads an OpenVPN client configuration. The result is a policy that starts openvpn(8), and the file with its keys.
package func importOpenVPN(_ bytes: [UInt8], file: String, options: ImportOptions) throws(ImportFailure) -> ImportResult {
  guard !bytes.contains(0) else { throw ImportFailure("this is no text") }
  var result = ImportResult(report: ImportReport(file: file))
  var tunnel = ImportedTunnel(name: options.name ?? tunnelName(from: baseName(of: file)) ?? "openvpn", avoiding: options.taken)
  var copy = OpenVPNCopy()
  copy.take(OpenVPNFile(bytes), &result.report)
  copy.finish()
  if let manifest = options.openVPN, !copy.namesFiles, !copy.isLinkLayer {
    tunnel.useProvider(copy, manifest, &result.report)
  } else {
    tunnel.useOpenVPN(copy, folder: options.folder, &result.report)
  }
  tunnel.addMissingRules(options.rules, for: "an OpenVPN file", &result.report)
  result.add(tunnel, source: file, apps: options.apps, beside: options.beside)
  return result
}

/// Reads OpenVPN Connect's payload: `VendorConfig` contains options and their values; `NOARGS` means none, and `\n` a new line.
func readOpenVPNVendor(
  _ vendor: Item?, _ inner: inout Fields?, _ tunnel: inout ImportedTunnel, options: ImportOptions, _ report: inout ImportReport
) {
  if var fields = inner {
    fields.drop(["RemoteAddress"], reason: "for display only; the server is among the options", &report)
    let method = fields.text("AuthenticationMethod", &report)
    let uuid = fields.text("PayloadCertificateUUID", &report)
    if let uuid {
      tunnel.identity = .named(uuid.value)
    } else if method?.value == "Certificate" {
      tunnel.identity = .any
    }
    for place in [method?.place, uuid?.place].compactMap({ $0 }) { report.changed(place, "the identity in the OpenVPN file") }
    inner = fields
  }
  guard let vendor, let entries = vendor.property.entries else {
    tunnel.obstacles.append("the profile holds no OpenVPN options (VendorConfig)")
    return
  }
  var copy = OpenVPNCopy(options: [OpenVPNOption(words: ["client"])])
  for entry in entries {
    let place = vendor.place.key(entry.key, line: entry.value.line ?? vendor.place.line)
    guard let value = entry.value.text else {
      report.dropped(place, "expected a text", weight: .error)
      continue
    }
    if entry.key == "vpn-on-demand" {
      if value == "0" {
        tunnel.ruleObstacle = "the profile forbids OpenVPN to be started on demand (vpn-on-demand)"
        report.changed(place, "the rules are off")
      } else {
        report.taken(place)
      }
      continue
    }
    let isBlock = value.contains("\\n") || value.contains("\n")
    let text = unescaped(value)
    let lines =
      isBlock
      ? ["<\(entry.key)>"] + text.split(separator: "\n").map(String.init) + ["</\(entry.key)>"]
      : ["\(entry.key)\(value == "NOARGS" ? "" : " \(value)")"]
    // The value must not end a block early, and has to stay on one line.
    guard entry.key.utf8.allSatisfy({ (97...122).contains($0 | 0x20) || (48...57).contains($0) || $0 == UInt8(ascii: "-") }),
      !isBlock || !lines.dropFirst().dropLast().contains(where: { $0.contains("</") }), !value.contains("\r")
    else {
      report.dropped(place, "not an option", weight: .error)
      continue
    }
    copy.take(OpenVPNFile(Array(lines.joined(separator: "\n").utf8)), path: "\(vendor.place.text).", line: place.line, &report)
  }
  if entries.isEmpty { copy.obstacles.append("the profile holds no OpenVPN options (VendorConfig)") } else { copy.finish() }
  if let manifest = options.openVPN, !copy.namesFiles, !copy.isLinkLayer {
    tunnel.useProvider(copy, manifest, &report)
  } else {
    tunnel.useOpenVPN(copy, folder: options.folder, &report)
  }
}

private func unescaped(_ text: String) -> String {
  var result = ""
  var isEscaped = false
  for character in text {
    if isEscaped {
      result += character == "n" ? "\n" : "\\" + String(character)
      isEscaped = false
    } else if character == "\\" {
      isEscaped = true
    } else {
      result.append(character)
    }
  }
  return isEscaped ? result + "\\" : result
}

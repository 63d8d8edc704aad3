package import PolicyFiles
package import RoamwardCore

/// The user's options for an import.
package struct ImportOptions: Equatable, Sendable {
  /// The tunnel's name, instead of one from the file; of several tunnels, the first.
  package var name: String?
  /// The absolute path of the files' folder, for the commands in the policy.
  package var folder: String
  /// Check the signature of a signed profile. If the check fails, nothing is imported.
  package var verify: Bool
  /// Files of certificates to trust, in addition to those of this machine.
  package var trusted: [String]
  /// A payload type to read like Apple's VPN payload.
  package var acceptedPayloadType: String?
  package var reading: RuleReading
  /// Names of files in the folder that must not be replaced: the imported files themselves.
  package var taken: Set<String> = []
  /// The name of the imported file, if it is in the folder of the output: a policy may use it as it is.
  package var own: String?
  /// The rules of a tunnel whose format has none.
  package var rules = MissingRules.none
  /// The programs that the tunnels are for alone; empty: those that the file is for.
  package var apps: [App] = []
  /// Files that are in the folder of the output already, or will be, and that the policies depend on.
  package var beside: [OutputFile] = []
  /// The manifests of the installed providers of OpenVPN and of IKEv2. Without one, policies run openvpn(8) or swanctl(8) as a command.
  package var openVPN: ProviderManifestFile?
  package var strongSwan: ProviderManifestFile?

  package init(
    name: String? = nil, folder: String = "/etc/roamward/policies", verify: Bool = false, trusted: [String] = [],
    acceptedPayloadType: String? = nil, reading: RuleReading = RuleReading()
  ) {
    self.name = name
    self.folder = folder
    self.verify = verify
    self.trusted = trusted
    self.acceptedPayloadType = acceptedPayloadType
    self.reading = reading
  }
}

/// The rules of a tunnel whose format has none.
package enum MissingRules: Equatable, Sendable {
  /// None: the tunnel is started by hand.
  case none
  /// The tunnel is down on a named network, and up everywhere else.
  case everywhereBut(network: String)
}

/// The importable file formats.
package enum ImportFormat: String, Equatable, Sendable, CaseIterable {
  /// A profile, plain or signed, or a declaration of OS 27.
  case apple
  /// A wg-quick(8) file.
  case wireGuard = "wg-quick"
  /// An OpenVPN client configuration.
  case openVPN = "openvpn"
  /// A connection of NetworkManager (nm-settings-keyfile(5)).
  case networkManager = "nmconnection"

  /// Whether its files say when the tunnel is wanted.
  package var hasRules: Bool { self == .apple }
}

/// Detects the format by the name's extension, or else by the contents. `nil`: none of them.
package func detectFormat(_ bytes: [UInt8], file: String) -> ImportFormat? {
  let name = file.lowercased()
  if name.hasSuffix(".mobileconfig") || name.hasSuffix(".plist") { return .apple }
  if name.hasSuffix(".ovpn") { return .openVPN }
  if name.hasSuffix(".nmconnection") { return .networkManager }
  if isSignedMessage(bytes) || bytes.starts(with: Array("bplist".utf8)) { return .apple }
  let lines = numberedLines(Array(bytes.prefix(65_536))).map { trimmed($0.text) }.filter {
    !$0.isEmpty && !$0.hasPrefix("#") && !$0.hasPrefix(";")
  }
  if let first = lines.first, first.hasPrefix("{") || first.hasPrefix("<?xml") || first.hasPrefix("<!DOCTYPE") || first.hasPrefix("<plist")
  {
    return .apple
  }
  if lines.contains("[connection]") { return .networkManager }
  if lines.contains(where: { $0.lowercased() == "[interface]" }) { return .wireGuard }
  if lines.contains(where: { $0 == "client" || $0.hasPrefix("remote ") }) { return .openVPN }
  return nil
}

/// Reads a file of any of the formats. Writes nothing, and reads nothing except the bytes and, for verification, certificates.
package func importFile(_ bytes: [UInt8], file: String, options: ImportOptions) throws(ImportFailure) -> ImportResult {
  guard bytes.count <= ImportLimits.file else { throw ImportFailure("the file is larger than 16 MiB") }
  if let failure = otherForm(of: bytes) { throw failure }
  switch detectFormat(bytes, file: file) {
  case .apple: return try importProfile(bytes, file: file, options: options)
  case .wireGuard: return try importWireGuard(bytes, file: file, options: options)
  case .openVPN: return try importOpenVPN(bytes, file: file, options: options)
  case .networkManager: return try importNetworkManager(bytes, file: file, options: options)
  case nil:
    throw ImportFailure(
      "the format of the file is unknown",
      help: "import reads wg-quick (.conf), OpenVPN (.ovpn), NetworkManager (.nmconnection) and Apple (.mobileconfig) files")
  }
}

/// The failure for a file that holds one of the formats, but in another form than as text.
private func otherForm(of bytes: [UInt8]) -> ImportFailure? {
  func begins(_ start: [UInt8]) -> Bool { bytes.starts(with: start) }
  if bytes.isEmpty { return ImportFailure("the file is empty") }
  if begins([0xff, 0xfe]) || begins([0xfe, 0xff]) {
    return ImportFailure(
      "this is text in UTF-16", help: "convert it: `iconv -f UTF-16 -t UTF-8 FILE > NEW`, and import the new file")
  }
  if begins([0x50, 0x4b, 0x03, 0x04]) {
    return ImportFailure("this is a .zip archive", help: "unpack it (`unzip FILE`), and import the files in it")
  }
  if begins([0x1f, 0x8b]) || begins([0xfd, 0x37, 0x7a, 0x58, 0x5a]) || begins([0x37, 0x7a, 0xbc, 0xaf]) || begins([0x42, 0x5a, 0x68]) {
    return ImportFailure("this is a compressed file or archive", help: "unpack it, and import the files in it")
  }
  if begins([0x89, 0x50, 0x4e, 0x47]) || begins([0xff, 0xd8, 0xff]) {
    return ImportFailure("this is a picture", help: "if it shows a QR code, `zbarimg --raw FILE` prints the text of the tunnel's file")
  }
  return nil
}

/// A manifest that is installed on the machine for which files are imported.
package struct ProviderManifestFile: Equatable, Sendable {
  package var path: String
  package var bytes: [UInt8]

  package init(path: String, bytes: [UInt8]) {
    self.path = path
    self.bytes = bytes
  }
}

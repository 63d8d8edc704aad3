/// A file that an import makes.
package struct OutputFile: Hashable, Sendable {
  /// A name in the folder of the output, without a slash.
  package var name: String
  package var bytes: [UInt8]
  /// Whether it is for root alone (0600) from its first instant.
  package var isSecret: Bool

  package init(name: String, bytes: [UInt8], isSecret: Bool) {
    self.name = name
    self.bytes = bytes
    self.isSecret = isSecret
  }
}

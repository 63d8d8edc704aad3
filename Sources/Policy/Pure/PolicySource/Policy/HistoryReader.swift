import RoamwardCore

let historyKeys = Mapping(
  subject: "`history`", draft: HistorySettings(),
  keys: [
    Key(
      "enabled", .boolean, "Keep a record of networks, decisions and states. If false, an earlier one is removed.", standard: "true",
      example: "false"
    ) {
      $0.isEnabled = $1
    },
    Key("size", .recordSize, "The largest size of the record, 64KiB to 256MiB.", standard: "8MiB", example: "2MiB") { $0.size = $1 },
    Key("age", .recordAge, "The age at which entries are removed, up to 366d.", standard: "30d", example: "7d") { $0.age = $1 },
    Key(
      "names", .word(),
      "What the record has of SSIDs, hardware addresses and domains: as they are, as keyed digests, or nothing.",
      standard: "full", example: "hashed"
    ) { $0.names = $1 },
  ])

extension ValueReader where Value == Int {
  fileprivate static let recordSize = ValueReader(
    "a size from 64KiB to 256MiB, such as 512KiB or 8MiB",
    schema: .string(pattern: "^(0*(\(SchemaPattern.number(64...(256 << 10))))KiB|0*(\(SchemaPattern.number(1...256)))MiB)$")
  ) { text in
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20)]
    guard let unit = units.first(where: { text.hasSuffix($0.0) }), let count = decimal(String(text.dropLast(3))) else { return nil }
    let (size, isTooLarge) = count.multipliedReportingOverflow(by: unit.1)
    return isTooLarge || !((64 << 10)...(256 << 20)).contains(size) ? nil : size
  }
}

extension ValueReader where Value == Duration {
  fileprivate static let recordAge = ValueReader(
    "an age from 1h to 366d, such as 12h or 30d",
    schema: .string(pattern: "^(0*(\(SchemaPattern.number(1...(366 * 24))))h|0*(\(SchemaPattern.number(1...366)))d)$")
  ) { text in
    let units = [("h", 1), ("d", 24)]
    guard let unit = units.first(where: { text.hasSuffix($0.0) }), let count = decimal(String(text.dropLast())) else { return nil }
    let (hours, isTooLarge) = count.multipliedReportingOverflow(by: unit.1)
    return isTooLarge || !(1...(366 * 24)).contains(hours) ? nil : .seconds(hours * 3600)
  }
}

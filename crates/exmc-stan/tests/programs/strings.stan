transformed data {
  print("// no comment", "/* none */", "#include nothing", "é “quoted” \n");
}

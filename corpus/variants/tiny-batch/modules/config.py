CFG = {"rows": 3000, "per_step": 4, "epochs": 4}

model { x = {1, }; }
